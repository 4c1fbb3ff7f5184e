import type { Reason } from '../conditions/conditions.ts';
import { POD_SETTING_RECOVERIES } from '../pod-settings/recovery.ts';

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

const BEFORE = 'PATCH the previous value, or any other value.';

const sizes = (prefix: string) =>
  ['cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb'].map((name) => `${prefix}${name}`);

export const FIELD_RECOVERIES: readonly FieldRecovery[] = [
  {
    fields: ['db_storage_gi'],
    refused:
      'The storage class does not expand volumes, a quota has no storage left, an admission rule rejects the claim, or the storage system fails or does not finish.',
    reasons: ['VolumeNotExpandable', 'QuotaExceeded', 'Refused', 'VolumeResizing'],
    back: 'PATCH any size down to the capacity of the volume, or the previous size that the storage system had rounded up to the capacity. Until the cluster reports the new size, the previous size counts as the capacity. A smaller size gets a 400 that names the accepted sizes. Kubernetes can lower a claim only to a size above the capacity. At or below the capacity the claim stays as it is, and the message of `DatabaseReady` reports this.',
  },
  {
    fields: ['db_storage_gi of a new deployment'],
    refused:
      'A quota rejects the claim, or no volume can be created, because the StorageClass does not exist or has no room.',
    reasons: ['QuotaExceeded', 'Refused', 'DatabaseStarting'],
    back: 'PATCH any size. A claim that exists without a volume keeps its size until the administrator of the cluster deletes it. Such a claim holds no data, and Berth creates it again.',
  },
  {
    fields: [...sizes(''), ...sizes('queue_'), ...sizes('orchestrator_'), ...sizes('executor_')],
    refused: 'No node has room, or a LimitRange or a quota of the namespace does not allow the value.',
    reasons: ['Unschedulable', 'QuotaExceeded', 'AdmissionRefused'],
    back: `${BEFORE} At the deadline, Berth restores the previous workloads without intervention.`,
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
      'No node has room for so many pods, a quota does not allow them, or a volume can be used by one pod only.',
    reasons: ['Unschedulable', 'QuotaExceeded'],
    back: BEFORE,
  },
  {
    fields: ['cache_cpu', 'cache_cpu_limit', 'cache_memory_mb', ...sizes('db_'), 'db_max_connections'],
    refused:
      'No node has room, or a LimitRange or a quota of the namespace does not allow the value. The previous pod has already ended.',
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
    back: 'PATCH the previous name, or null.',
  },
  {
    fields: ['image_pull_secrets'],
    refused: 'The Secret does not exist, or its credentials do not allow the pull of the image.',
    reasons: ['ImagePullFailed'],
    back: BEFORE,
  },
  {
    fields: ['volumes', 'volume_mounts'],
    refused:
      'A claim, Secret or ConfigMap does not exist. Or the volume is on another node or in another zone, has no CSI driver on the node, or is in use by another pod.',
    reasons: ['MountFailed', 'Unschedulable', 'AdmissionRefused'],
    back: BEFORE,
  },
  {
    fields: ['init_containers', 'sidecars'],
    refused:
      'The image, the command, the Secrets or the security context of the container is not valid in this cluster.',
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
    refused: 'An admission rule of the cluster rejects the key or the value.',
    reasons: ['AdmissionRefused'],
    back: BEFORE,
  },
  ...POD_SETTING_RECOVERIES,
  {
    fields: ['source_config.custom_url'],
    refused: 'Another resource of the cluster has the host, or the gateway does not accept the route.',
    reasons: ['RouteRefused', 'RoutePending', 'RouteUnsupported'],
    back: 'PATCH the previous URL, or null. If another deployment has taken the host meanwhile, the response is 409.',
  },
  {
    fields: ['source_config.domains'],
    refused:
      'A host has no DNS record, proof or certificate, another resource of the cluster has it, or the gateway does not accept its route.',
    reasons: ['DomainUnproven', 'DomainRefused', 'DomainWithoutDns', 'DomainWithoutCertificate'],
    back: 'PATCH the previous list, or null. The deployment stays READY, and serves under its other addresses.',
  },
  {
    fields: ['source_config.schedules'],
    refused:
      'The policy or an admission rule of the cluster rejects the schedule, or the active revision does not have its component.',
    reasons: ['ScheduleRefused'],
    back: 'PATCH the previous list, or null. The deployment stays READY, and its other schedules run.',
  },
  {
    fields: ['source_revision_config', 'secrets'],
    refused:
      'The image cannot be built or pulled, its command cannot be started, or its pods do not become ready.',
    reasons: ['ImagePullFailed', 'ContainerConfigInvalid', 'CrashLoop', 'BuildFailed', 'ReadinessFailed'],
    back: 'Berth restores the active revision without intervention. PATCH the previous content, or use POST …/revisions/{id}/rollback. Both create a new revision.',
  },
  {
    fields: ['secret_references'],
    refused: 'The Secret or its key does not exist, or the deployment may not use this Secret.',
    reasons: ['SecretReferenceMissing', 'Refused'],
    back: 'Create the Secret or the key, then redeploy. Or PATCH the previous list.',
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
      'These fields of source_config are immutable. A PATCH with another value gets a 400, so Berth never stores a rejected value.',
    reasons: ['NamespaceNotAllowed'],
    back: 'If the listener may not use the namespace, add the namespace to the listener, or delete the deployment, which has no objects in the cluster.',
  },
];
