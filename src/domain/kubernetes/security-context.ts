import { z } from 'zod';
import { descendingPathSchema, MAX_PATH_LENGTH } from './names.ts';
import { line } from './text.ts';

const MAX_ID = 2 ** 31 - 1;
const CAPABILITY = /^[A-Z][A-Z0-9_]*$/;

const PROFILE_TYPES = ['RuntimeDefault', 'Localhost', 'Unconfined'] as const;

const capabilityListSchema = z
  .array(
    z
      .string()
      .min(1)
      .max(64)
      .regex(CAPABILITY, 'must be the name of a Linux capability such as NET_BIND_SERVICE, or ALL'),
  )
  .max(64);

interface Profile {
  type: (typeof PROFILE_TYPES)[number];
  localhostProfile?: string | undefined;
}

function checkLocalhostProfile(profile: Profile, ctx: Pick<z.core.$RefinementCtx, 'addIssue'>): void {
  const named = profile.localhostProfile !== undefined;
  if (profile.type === 'Localhost' && !profile.localhostProfile) {
    ctx.addIssue({
      code: 'custom',
      path: ['localhostProfile'],
      message: 'must be set when type is Localhost',
    });
  }
  if (profile.type !== 'Localhost' && named) {
    ctx.addIssue({
      code: 'custom',
      path: ['localhostProfile'],
      message: 'must not be set when type is not Localhost',
    });
  }
}

const seccompProfileSchema = z
  .strictObject({
    type: z.enum(PROFILE_TYPES).describe('Kind of the profile.'),
    localhostProfile: descendingPathSchema
      .optional()
      .describe(
        "Path of the profile on the node, relative to the kubelet's seccomp directory. Only for the type " +
          'Localhost.',
      ),
  })
  .superRefine(checkLocalhostProfile)
  .describe('Profile of the system calls that the container may make.');

const appArmorProfileSchema = z
  .strictObject({
    type: z.enum(PROFILE_TYPES).describe('Kind of the profile.'),
    localhostProfile: line(MAX_PATH_LENGTH)
      .refine((profile) => profile.trim() === profile, 'must not begin or end with white space')
      .optional()
      .describe('Name of a profile that is loaded on the node. Only for the type Localhost.'),
  })
  .superRefine(checkLocalhostProfile)
  .describe('AppArmor profile of the container.');

const seLinuxOptionsSchema = z
  .strictObject({
    user: line(253).optional().describe('SELinux user.'),
    role: line(253).optional().describe('SELinux role.'),
    type: line(253).optional().describe('SELinux type.'),
    level: line(253).optional().describe('SELinux level.'),
  })
  .describe('SELinux context of the container.');

const capabilitiesSchema = z
  .strictObject({
    add: capabilityListSchema.optional().describe('Capabilities to add.'),
    drop: capabilityListSchema.optional().describe('Capabilities to remove. ALL removes all capabilities.'),
  })
  .describe('Linux capabilities to add and remove.');

const securityContextShape = z.strictObject({
  runAsUser: z
    .int()
    .min(0)
    .max(MAX_ID)
    .optional()
    .describe('User id to run as. Default: the user of the image.'),
  runAsGroup: z
    .int()
    .min(0)
    .max(MAX_ID)
    .optional()
    .describe('Group id to run as. Default: the group that the container runtime sets.'),
  runAsNonRoot: z.boolean().optional().describe('Do not start the container as user 0.'),
  readOnlyRootFilesystem: z.boolean().optional().describe('Mount the root file system read-only.'),
  allowPrivilegeEscalation: z
    .boolean()
    .optional()
    .describe('Whether a process may gain more rights than its parent.'),
  privileged: z.boolean().optional().describe('Whether the container runs with all rights on the node.'),
  procMount: z
    .enum(['Default'])
    .optional()
    .describe(
      'How /proc is mounted. Unmasked needs a user namespace for the pod, which this API does not offer.',
    ),
  capabilities: capabilitiesSchema.optional(),
  seLinuxOptions: seLinuxOptionsSchema.optional(),
  seccompProfile: seccompProfileSchema.optional(),
  appArmorProfile: appArmorProfileSchema.optional(),
});

/** Security settings of one container, for Linux (no windowsOptions). Source: ValidateSecurityContext of the API server. */
export const securityContextSchema = securityContextShape
  .superRefine((context, ctx) => {
    if (context.allowPrivilegeEscalation === false && context.privileged === true) {
      ctx.addIssue({
        code: 'custom',
        path: ['allowPrivilegeEscalation'],
        message: 'must not be false when privileged is true',
      });
    }
    if (context.allowPrivilegeEscalation === false && context.capabilities?.add?.includes('CAP_SYS_ADMIN')) {
      ctx.addIssue({
        code: 'custom',
        path: ['allowPrivilegeEscalation'],
        message: 'must not be false when CAP_SYS_ADMIN is added',
      });
    }
    if (context.runAsNonRoot === true && context.runAsUser === 0) {
      ctx.addIssue({
        code: 'custom',
        path: ['runAsUser'],
        message: 'must not be 0 when runAsNonRoot is true',
      });
    }
  })
  .meta({ freeForm: true })
  .describe('Security settings of the container.');
export type SecurityContext = z.infer<typeof securityContextSchema>;
