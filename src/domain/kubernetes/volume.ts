import { z } from 'zod';
import { dnsLabelSchema, dnsSubdomainSchema } from './names.ts';
import { quantitySchema } from './quantity.ts';
import { line } from './text.ts';
import { rejectDuplicates } from './unique.ts';
import {
  defaultModeSchema,
  downwardApiFilesSchema,
  keyToPathListSchema,
  projectedSourcesSchema,
} from './volume-files.ts';
import { VOLUME_KINDS } from './volume-kinds.ts';

export {
  MAX_VOLUME_MOUNTS,
  type VolumeMount,
  volumeMountSchema,
  volumeMountsSchema,
} from './volume-mount.ts';

const MEDIUM = /^(Memory|HugePages(-[0-9]+(Ki|Mi|Gi)))?$|^HugePages$/;
const CSI_DRIVER = /^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*$/;

const configMapVolumeSchema = z
  .strictObject({
    name: dnsSubdomainSchema.describe('Name of the ConfigMap.'),
    items: keyToPathListSchema.optional(),
    defaultMode: defaultModeSchema.optional(),
    optional: z.boolean().optional().describe('Whether the pod may start without the ConfigMap or its keys.'),
  })
  .describe('Files from the keys of a ConfigMap.');

const secretVolumeSchema = z
  .strictObject({
    secretName: dnsSubdomainSchema.describe('Name of the Secret.'),
    items: keyToPathListSchema.optional(),
    defaultMode: defaultModeSchema.optional(),
    optional: z.boolean().optional().describe('Whether the pod may start without the Secret or its keys.'),
  })
  .describe('Files from the keys of a Secret.');

const emptyDirVolumeSchema = z
  .strictObject({
    medium: line(63)
      .regex(MEDIUM, "must be '', 'Memory', 'HugePages' or 'HugePages-<size>'")
      .optional()
      .describe('Storage medium: the disk of the node (empty string), Memory or HugePages.'),
    sizeLimit: quantitySchema.optional().describe('Size limit, as a Kubernetes quantity.'),
  })
  .describe('An empty directory that lives as long as the pod.');

const persistentVolumeClaimVolumeSchema = z
  .strictObject({
    claimName: dnsSubdomainSchema.describe('Name of the PersistentVolumeClaim.'),
    readOnly: z.boolean().optional().describe('Mount the claim read-only in every container.'),
  })
  .describe('A PersistentVolumeClaim of the same namespace.');

const nfsVolumeSchema = z
  .strictObject({
    server: line(253)
      .min(1)
      .regex(/^\S+$/, 'must not contain white space')
      .describe('Host name or address of the NFS server.'),
    path: line(4095)
      .min(1)
      .refine((path) => path.startsWith('/'), 'must be an absolute path')
      .describe('Exported path on the server.'),
    readOnly: z.boolean().optional().describe('Mount the claim read-only in every container.'),
  })
  .describe('A directory of an NFS server.');

const projectedVolumeSchema = z
  .strictObject({
    sources: projectedSourcesSchema.optional(),
    defaultMode: defaultModeSchema.optional(),
  })
  .describe('Files from several sources in one directory.');

const downwardApiVolumeSchema = z
  .strictObject({
    items: downwardApiFilesSchema.optional(),
    defaultMode: defaultModeSchema.optional(),
  })
  .describe('Files that contain fields of the pod.');

const csiVolumeSchema = z
  .strictObject({
    driver: line(63)
      .min(1)
      .regex(CSI_DRIVER, 'must be a driver name such as csi.example.com')
      .describe('Name of the CSI driver.'),
    readOnly: z.boolean().optional().describe('Mount read-only. Default false.'),
    fsType: line(63)
      .optional()
      .describe('File system to mount. If empty, the driver selects the file system.'),
    volumeAttributes: z.record(line(253), line(4096)).optional().describe('Settings of the driver.'),
    nodePublishSecretRef: z
      .strictObject({ name: dnsSubdomainSchema.describe('Name of the Secret.') })
      .optional()
      .describe('Secret that the driver receives when it mounts the volume.'),
  })
  .describe('A volume that a CSI driver creates for the pod.');

/** A volume of a pod, with a name and at most one source. Without a source, it is an empty directory. */
export const volumeSchema = z
  .strictObject({
    name: dnsLabelSchema.describe('Name that volume mounts refer to.'),
    configMap: configMapVolumeSchema.meta({ freeForm: true }).optional(),
    secret: secretVolumeSchema.meta({ freeForm: true }).optional(),
    emptyDir: emptyDirVolumeSchema.meta({ freeForm: true }).optional(),
    persistentVolumeClaim: persistentVolumeClaimVolumeSchema.meta({ freeForm: true }).optional(),
    nfs: nfsVolumeSchema.meta({ freeForm: true }).optional(),
    projected: projectedVolumeSchema.meta({ freeForm: true }).optional(),
    downwardAPI: downwardApiVolumeSchema.meta({ freeForm: true }).optional(),
    csi: csiVolumeSchema.meta({ freeForm: true }).optional(),
  })
  .superRefine((volume, ctx) => {
    const [, second] = VOLUME_KINDS.filter((kind) => volume[kind] !== undefined);
    if (second)
      ctx.addIssue({
        code: 'custom',
        path: [second],
        message: 'must not be set, because a volume can have only one source',
      });
  })
  .describe('A volume of the pods. A volume without a source is an empty directory.');
export type Volume = z.infer<typeof volumeSchema>;

/** Maximum number of volumes of one pod. */
export const MAX_VOLUMES = 64;

/** All volumes of a pod. Names must be unique. */
export const volumesSchema = z
  .array(volumeSchema)
  .max(MAX_VOLUMES)
  .superRefine((volumes, ctx) => rejectDuplicates(volumes, (volume) => volume.name, 'name', ctx));
