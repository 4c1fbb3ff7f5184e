import type { Reason } from '../conditions/conditions.ts';

/**
 * Fields that a cluster can reject or never complete although the API accepts them, with the recovery. Every field of
 * resource_spec is in one row. docs/lifecycle.md contains the table.
 */
export interface FieldRecovery {
  /** Paths below source_config.resource_spec, unless they name another path. */
  readonly fields: readonly string[];
  readonly refused: string;
  /** Reported reasons. Empty: no reason, because the cluster rejects no value. */
  readonly reasons: readonly Reason[];
  readonly back: string;
}

const FORMER = 'PATCH the former value, or any other value.';

const sizes = (prefix: string) =>
  ['cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb'].map((name) => `${prefix}${name}`);

export const FIELD_RECOVERIES: readonly FieldRecovery[] = [
  {
    fields: ['db_storage_gi'],
    refused:
      'The storage class does not expand volumes, a quota has no storage left, an admission rule rejects the claim, or the storage system fails or does not finish.',
    reasons: ['VolumeNotExpandable', 'QuotaExceeded', 'Refused', 'VolumeResizing'],
    back: 'PATCH any size down to the capacity of the volume, or the former size that the storage system has rounded up to the capacity. Until the cluster reports the new size, the former size counts as the capacity. A smaller size gets a 400 that names the accepted sizes. Kubernetes lowers a claim only to a size above the capacity. For other sizes, the claim does not change, and `DatabaseReady` states this.',
  },
  {
    fields: ['db_storage_gi of a new deployment'],
    refused:
      'A quota rejects the claim, or no volume can be created, because the StorageClass does not exist or has no capacity.',
    reasons: ['QuotaExceeded', 'Refused', 'DatabaseStarting'],
    back:
      'PATCH any size. A claim that exists without a volume keeps its size until the administrator of the ' +
      'cluster deletes it. A claim without a volume holds no data, and Berth creates it again.',
  },
  {
    fields: [...sizes(''), ...sizes('queue_'), ...sizes('orchestrator_'), ...sizes('executor_')],
    refused:
      'No node has enough resources, or a LimitRange or a quota of the namespace does not allow the value.',
    reasons: ['Unschedulable', 'QuotaExceeded', 'AdmissionRefused'],
    back: `${FORMER} At the deadline, the former pods are restored automatically.`,
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
    refused:
      'No node has enough resources for all pods, the quota does not allow them, or a volume allows only one pod.',
    reasons: ['Unschedulable', 'QuotaExceeded'],
    back: FORMER,
  },
  {
    fields: ['cache_cpu', 'cache_cpu_limit', 'cache_memory_mb', ...sizes('db_'), 'db_max_connections'],
    refused:
      'No node has enough resources, or a LimitRange or a quota of the namespace does not allow the value. The ' +
      'former pod has already ended when the new pod cannot start.',
    reasons: [
      'Unschedulable',
      'QuotaExceeded',
      'AdmissionRefused',
      'DatabaseUnavailable',
      'CacheUnavailable',
    ],
    back: FORMER,
  },
  {
    fields: ['service_account_name'],
    refused: 'The ServiceAccount does not exist.',
    reasons: ['AdmissionRefused'],
    back: 'PATCH the former name, or null.',
  },
  {
    fields: ['image_pull_secrets'],
    refused: 'The Secret does not exist, or its credentials do not allow the image to be pulled.',
    reasons: ['ImagePullFailed'],
    back: FORMER,
  },
  {
    fields: ['volumes', 'volume_mounts'],
    refused:
      'A claim, Secret or ConfigMap does not exist. The volume is on another node or in another zone, has no CSI driver on the node, or is in use by another pod.',
    reasons: ['MountFailed', 'Unschedulable', 'AdmissionRefused'],
    back: FORMER,
  },
  {
    fields: ['init_containers', 'sidecars'],
    refused:
      'The image, the command, the Secrets or the security context of the container is not valid or not allowed.',
    reasons: [
      'InvalidImageName',
      'ImagePullFailed',
      'ContainerConfigInvalid',
      'CrashLoop',
      'AdmissionRefused',
      'ReadinessFailed',
    ],
    back: FORMER,
  },
  {
    fields: ['labels', 'annotations'],
    refused: 'An admission rule of the cluster rejects the pods.',
    reasons: ['AdmissionRefused'],
    back: FORMER,
  },
  {
    fields: ['source_config.custom_url'],
    refused: 'Another resource of the cluster uses the host, or the gateway does not accept the route.',
    reasons: ['RouteRefused', 'RoutePending', 'RouteUnsupported'],
    back: 'PATCH the former URL, or null. If another deployment has taken the host in the meantime, the response is 409.',
  },
  {
    fields: ['source_revision_config', 'secrets'],
    refused: 'The image cannot be built or pulled, or its pods do not become ready.',
    reasons: ['ImagePullFailed', 'CrashLoop', 'BuildFailed', 'ReadinessFailed'],
    back:
      'The active revision is restored automatically. PATCH the former content, or use POST ' +
      '…/revisions/{id}/rollback. Both requests create a new revision.',
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
      'The fields of this row are immutable fields of source_config. A PATCH with another value gets a 400, so a ' +
      'rejected value is never stored.',
    reasons: ['NamespaceNotAllowed'],
    back: 'If the listener may not use the namespace, add the namespace to the listener, or delete the deployment, which has no objects in the cluster.',
  },
];
