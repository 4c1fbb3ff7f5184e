import type { Reason } from '../conditions/conditions.ts';

/**
 * Fields that a cluster can reject or never complete although the API accepts them, with the recovery. Every field of
 * resource_spec is in one row. docs/lifecycle.md contains the table.
 */
export interface FieldRecovery {
  /** Below source_config.resource_spec, unless they name another path. */
  readonly fields: readonly string[];
  readonly refused: string;
  /** Reported reasons. Empty: none, because nothing is rejected. */
  readonly reasons: readonly Reason[];
  readonly back: string;
}

const BEFORE = 'PATCH the value before, or any other.';

const sizes = (prefix: string) =>
  ['cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb'].map((name) => `${prefix}${name}`);

export const FIELD_RECOVERIES: readonly FieldRecovery[] = [
  {
    fields: ['db_storage_gi'],
    refused:
      'The storage class does not expand volumes, a quota has no storage left, an admission rule refuses the claim, or the storage system fails or does not finish.',
    reasons: ['VolumeNotExpandable', 'QuotaExceeded', 'Refused', 'VolumeResizing'],
    back: 'PATCH any size down to the capacity of the volume, or a size before that the storage system had rounded up to it. Until the cluster reports the new size, the size before counts as the capacity. Less is a 400 that names what is accepted. Kubernetes lowers a claim only to more than the capacity: at or below it the claim stays, and `DatabaseReady` says so.',
  },
  {
    fields: ['db_storage_gi of a new deployment'],
    refused:
      'A quota refuses the claim, or no volume can be made: the StorageClass does not exist, or has no room.',
    reasons: ['QuotaExceeded', 'Refused', 'DatabaseStarting'],
    back: 'PATCH any size. A claim that exists without a volume keeps its size until the administrator of the cluster deletes it: it holds no data, and Berth makes it again.',
  },
  {
    fields: [...sizes(''), ...sizes('queue_'), ...sizes('orchestrator_'), ...sizes('executor_')],
    refused: 'No node has room, a LimitRange or a quota of the namespace forbids it.',
    reasons: ['Unschedulable', 'QuotaExceeded', 'AdmissionRefused'],
    back: `${BEFORE} What ran before comes back by itself at the deadline.`,
  },
  {
    fields: [
      'min_scale',
      'max_scale',
      'queue_min_scale',
      'queue_max_scale',
      'orchestrator_min_scale',
      'orchestrator_max_scale',
    ],
    refused: 'No node or no quota has room for so many pods, or a volume allows one pod only.',
    reasons: ['Unschedulable', 'QuotaExceeded'],
    back: BEFORE,
  },
  {
    fields: ['cache_cpu', 'cache_cpu_limit', 'cache_memory_mb', ...sizes('db_'), 'db_max_connections'],
    refused:
      'No node has room, a LimitRange or a quota of the namespace forbids it. The pod before has ended by then.',
    reasons: [
      'Unschedulable',
      'QuotaExceeded',
      'AdmissionRefused',
      'DatabaseUnavailable',
      'CacheUnavailable',
    ],
    back: BEFORE,
  },
  {
    fields: ['service_account_name'],
    refused: 'The ServiceAccount does not exist.',
    reasons: ['AdmissionRefused'],
    back: 'PATCH the name before, or null.',
  },
  {
    fields: ['image_pull_secrets'],
    refused: 'The Secret does not exist, or its credentials may not pull the image.',
    reasons: ['ImagePullFailed'],
    back: BEFORE,
  },
  {
    fields: ['volumes', 'volume_mounts'],
    refused:
      'A claim, Secret or ConfigMap does not exist; the volume is on another node or in another zone, has no CSI driver on the node, or is in use by another pod.',
    reasons: ['MountFailed', 'Unschedulable', 'AdmissionRefused'],
    back: BEFORE,
  },
  {
    fields: ['init_containers', 'sidecars'],
    refused: 'The image, the command, the Secrets or the security context of the container.',
    reasons: [
      'InvalidImageName',
      'ImagePullFailed',
      'ContainerConfigInvalid',
      'CrashLoop',
      'AdmissionRefused',
      'ReadinessFailed',
    ],
    back: BEFORE,
  },
  {
    fields: ['labels', 'annotations'],
    refused: 'An admission rule of the cluster.',
    reasons: ['AdmissionRefused'],
    back: BEFORE,
  },
  {
    fields: ['source_config.custom_url'],
    refused:
      'The host is taken by another resource of the cluster, or the gateway does not accept the route.',
    reasons: ['RouteRefused', 'RoutePending', 'RouteUnsupported'],
    back: 'PATCH the URL before, or null. Where another deployment has taken its host meanwhile, that is a 409.',
  },
  {
    fields: ['source_revision_config', 'secrets'],
    refused: 'The image cannot be built or pulled, or its pods do not come up.',
    reasons: ['ImagePullFailed', 'CrashLoop', 'BuildFailed', 'ReadinessFailed'],
    back: 'The active revision comes back by itself. PATCH the content before, or POST …/revisions/{id}/rollback: each makes a new revision.',
  },
  {
    fields: [
      'listener_config.cluster_namespace',
      'listener_id',
      'deployment_type',
      'integration_id',
      'repo_url',
    ],
    refused:
      'Immutable (of source_config): a PATCH with another value is a 400, so no refused value is ever stored.',
    reasons: ['NamespaceNotAllowed'],
    back: 'A namespace that the listener may not use: add it to the listener, or delete the deployment, which has nothing in the cluster.',
  },
];
