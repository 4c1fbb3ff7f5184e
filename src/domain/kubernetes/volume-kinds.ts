/** The kinds of volume that the contract contains. */
export const VOLUME_KINDS = [
  'configMap',
  'secret',
  'emptyDir',
  'persistentVolumeClaim',
  'nfs',
  'projected',
  'downwardAPI',
  'csi',
] as const;
export type VolumeKind = (typeof VOLUME_KINDS)[number];
