import { z } from 'zod';
import { descendingPathSchema, dnsLabelSchema, hasBackstep, MAX_PATH_LENGTH } from './names.ts';
import { line } from './text.ts';
import { rejectDuplicates } from './unique.ts';

const mountPathSchema = line(MAX_PATH_LENGTH)
  .min(1)
  .refine((path) => path.startsWith('/'), 'must be an absolute path')
  .refine((path) => path.replaceAll('/', '') !== '', 'must not be the root directory')
  .refine((path) => !path.includes(':'), "must not contain ':'")
  .refine((path) => !hasBackstep(path), "must not contain '..'");

/** The mount of a volume in a container. */
export const volumeMountSchema = z
  .strictObject({
    name: dnsLabelSchema.describe('Volume to mount: the name of an entry of volumes.'),
    mountPath: mountPathSchema.describe("Absolute path in the container; without ':'."),
    subPath: descendingPathSchema
      .optional()
      .describe("Path within the volume to mount, relative and without '..'. Default: the whole volume."),
    mountPropagation: z
      .enum(['None', 'HostToContainer', 'Bidirectional'])
      .optional()
      .describe(
        'How mounts propagate between host and container. Only privileged containers can use Bidirectional.',
      ),
    readOnly: z.boolean().optional().describe('Mount read-only. Default false.'),
    subPathExpr: descendingPathSchema
      .optional()
      .describe(
        'Like subPath, but $(NAME) is replaced by the environment variable of the container. subPath and subPathExpr cannot be used together.',
      ),
  })
  .superRefine((mount, ctx) => {
    if (mount.subPath && mount.subPathExpr) {
      ctx.addIssue({
        code: 'custom',
        path: ['subPathExpr'],
        message: 'must not be set together with subPath',
      });
    }
  })
  .describe('A volume mount of a container.');
export type VolumeMount = z.infer<typeof volumeMountSchema>;

/** Maximum number of mounts of one container. */
export const MAX_VOLUME_MOUNTS = 128;

function normalizePath(path: string): string {
  return `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`;
}

/** All mounts of one container. Paths must be unique, independent of their spelling. */
export const volumeMountsSchema = z
  .array(volumeMountSchema)
  .max(MAX_VOLUME_MOUNTS)
  .superRefine((mounts, ctx) =>
    rejectDuplicates(mounts, (mount) => normalizePath(mount.mountPath), 'mountPath', ctx),
  );
