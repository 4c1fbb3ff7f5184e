import { z } from 'zod';
import { envFromSchema, envSchema } from './env.ts';
import { imageSchema } from './image.ts';
import { dnsLabelSchema, hasBackstep, MAX_PATH_LENGTH } from './names.ts';
import { resourceRequirementsSchema } from './resources.ts';
import { securityContextSchema } from './security-context.ts';
import { line, text } from './text.ts';
import { rejectDuplicates } from './unique.ts';
import { volumeMountsSchema } from './volume-mount.ts';

const MAX_ARGUMENTS = 256;
const MAX_ARGUMENT_LENGTH = 32_768;

/** A command or its arguments. */
export const argumentsSchema = z.array(text(MAX_ARGUMENT_LENGTH)).max(MAX_ARGUMENTS);

/**
 * An init container or sidecar. `restartPolicy: Always` makes it a native sidecar. OnFailure and Never need Kubernetes
 * 1.35 or newer, and only the listener knows the version. Variables that Berth sets are reserved only in the app
 * container, so `env` of these containers may contain any name.
 */
export const containerSchema = z
  .strictObject({
    name: dnsLabelSchema.describe('Name of the container, unique in the pod.'),
    image: imageSchema.describe('Image to run.'),
    imagePullPolicy: z
      .enum(['Always', 'IfNotPresent', 'Never'])
      .optional()
      .describe(
        'When to pull the image. Default: Always for the tag latest or no tag, otherwise IfNotPresent. In cloud mode, the policy is always Always.',
      ),
    command: argumentsSchema.optional().describe('Program to run. Default: the entry point of the image.'),
    args: argumentsSchema
      .optional()
      .describe('Arguments of the program. Default: the arguments of the image.'),
    workingDir: line(MAX_PATH_LENGTH)
      .refine((path) => path === '' || path.startsWith('/'), 'must be an absolute path')
      .refine((path) => !hasBackstep(path), "must not contain '..'")
      .optional()
      .describe('Working directory. Default: the directory of the image.'),
    env: envSchema.optional().describe('Environment variables.'),
    envFrom: z
      .array(envFromSchema)
      .max(64)
      .optional()
      .describe('Objects whose keys become environment variables.'),
    resources: resourceRequirementsSchema.optional(),
    volumeMounts: volumeMountsSchema.optional().describe('Volume mounts of the container.'),
    securityContext: securityContextSchema.optional(),
    restartPolicy: z
      .enum(['Always', 'OnFailure', 'Never'])
      .optional()
      .describe(
        'Always: the container is a native sidecar. A native sidecar starts before the next init container and runs as long as the app. OnFailure and Never need Kubernetes 1.35 or newer and are for containers that exit. A sidecar that has exited leaves its pod unready.',
      ),
  })
  .superRefine((container, ctx) => {
    if (container.securityContext?.privileged) return;
    for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
      if (mount.mountPropagation === 'Bidirectional') {
        ctx.addIssue({
          code: 'custom',
          path: ['volumeMounts', index, 'mountPropagation'],
          message:
            'must not be Bidirectional, because only privileged containers may propagate mounts to the node',
        });
      }
    }
  })
  .describe('A container that runs before or next to the app container.');
export type Container = z.infer<typeof containerSchema>;

/** Maximum number of init containers, and of sidecars. */
export const MAX_CONTAINERS = 20;

/** A list of containers with unique names. */
export const containersSchema = z
  .array(containerSchema)
  .max(MAX_CONTAINERS)
  .superRefine((containers, ctx) => rejectDuplicates(containers, (container) => container.name, 'name', ctx));
