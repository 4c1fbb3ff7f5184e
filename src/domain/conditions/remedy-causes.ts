import type { Reason } from './conditions.ts';

/**
 * The remedies for the causes of one reason. A reason such as Unschedulable covers several causes. The message of the
 * cluster shows the actual cause. The texts contain the placeholders of remedy-for.ts.
 */
export interface CauseOfReason {
  /** Pattern of the message of the cluster for this cause. */
  readonly said: RegExp;
  readonly text: string;
  /** The text for database and cache, whose volume and nodes no field names. */
  readonly ofService?: string;
}

/** The volume is in use by another pod: ReadWriteOncePod (scheduler), or ReadWriteOnce on another node (attach controller). */
export const VOLUME_IN_USE =
  /ReadWriteOncePod|pod using PersistentVolumeClaim with the same name|Multi-Attach error/i;

/** Messages about the volume of a claim, without the name of the claim or of the pod's volume. */
export const UNNAMED_CLAIM =
  /ReadWriteOncePod|pod using PersistentVolumeClaim|Multi-Attach error|volume node affinity conflict|unbound (?:immediate )?PersistentVolumeClaim|available persistent volumes to bind|max volume count|volume "pvc-|AttachVolume\.|driver name \S+ not found|node\(s\) unavailable due to one or more pvc/i;

const ONE_POD =
  'Only one pod at a time can use the volume (access mode ReadWriteOncePod), and another pod uses it. Every ' +
  'component mounts the volume, and so does every pod of an autoscaled component. Run a single pod (max_scale 1, ' +
  'and the other components switched off), or use a claim with the access mode ReadWriteMany in {volume}.';
const OTHER_NODE =
  'The volume is attached to another node, where another pod uses it (access mode ReadWriteOnce). Run a single pod ' +
  '(max_scale 1, and the other components switched off), end the other pod that uses the volume, or use a claim ' +
  'with the access mode ReadWriteMany in {volume}. If the other node is lost, the administrator of the cluster ' +
  'has to remove its pods.';

const DATABASE_ON_OTHER_NODE =
  'The volume of the database is still attached to another node. The volume is detached when the pod on that node ' +
  'has ended. If that node is lost, the administrator of the cluster has to remove the pod or the node.';

/** A taint that reserves nodes. Control-plane nodes nearly always have theirs. Newer schedulers name no taint. */
const TAINT = String.raw`untolerated taint(?! \{node-role\.kubernetes\.io/(?:control-plane|master)\b)`;
const SELECTED = '(?:node affinity/selector|Insufficient [a-z0-9.-]+/[a-z0-9._-]+)';
/** Reserved nodes beside a selector or a device, which other nodes do not have. */
const RESERVED_NODES = new RegExp(`${TAINT}.{0,2000}${SELECTED}|${SELECTED}.{0,2000}${TAINT}`, 'is');

const UNSCHEDULABLE: readonly CauseOfReason[] = [
  { said: /ReadWriteOncePod|pod using PersistentVolumeClaim with the same name/i, text: ONE_POD },
  {
    said: /persistentvolumeclaim "[^"]{1,253}" not found/i,
    text: 'Create the PersistentVolumeClaim that the message names, or change {volume}.',
  },
  {
    said: /unbound (?:immediate )?PersistentVolumeClaim|available persistent volumes to bind|pvc\(s\) bound to non-existent pv/i,
    text:
      'The claim in {volume} has no volume yet. Read the Events of the claim (a StorageClass that does not ' +
      'exist, no capacity, no provisioner), and ask the administrator of the cluster. You can also change {volume}.',
    ofService:
      'The claim of the database has no volume yet. Read the Events of the claim (a StorageClass that does not ' +
      'exist, no capacity, no provisioner), and ask the administrator of the cluster. A smaller db_storage_gi may ' +
      'help.',
  },
  {
    said: /volume node affinity conflict/i,
    text:
      'The volume in {volume} can be reached only from certain nodes (its zone, or one node), and the pod cannot ' +
      'be scheduled to these nodes. Ask the administrator of the cluster for capacity on these nodes, or use a claim ' +
      'in {volume} whose volume other nodes can reach.',
    ofService:
      'The volume of the database can be reached only from certain nodes (its zone, or one node), and the pod cannot ' +
      'be scheduled to these nodes. Ask the administrator of the cluster for capacity on these nodes.',
  },
  {
    said: /max volume count/i,
    text: 'The nodes have reached their maximum number of attached volumes. Use fewer volumes ({volume}), or ask the administrator of the cluster for more nodes.',
  },
  {
    said: /Insufficient cpu/i,
    text: 'Request less CPU ({cpu}), or ask the administrator of the cluster for larger or more nodes.',
  },
  {
    said: /Insufficient memory/i,
    text: 'Request less memory ({memory}), or ask the administrator of the cluster for larger or more nodes.',
  },
  {
    said: /Insufficient ephemeral-storage/i,
    text:
      'Request less ephemeral-storage (requests of sidecars and init_containers), or ask the administrator of the ' +
      'platform for nodes with more disk, or a lower BERTH_EPHEMERAL_STORAGE_REQUEST.',
  },
  {
    said: /Too many pods|Insufficient pods/i,
    text: 'The nodes run their maximum number of pods. Use fewer pods ({scale}), or ask the administrator of the cluster for more nodes.',
  },
  {
    // Extended resources, such as GPUs.
    said: /Insufficient [a-z0-9.-]+\/[a-z0-9.-]+/i,
    text:
      'No node that the pods can use has enough GPUs or other devices: those that the message names are missing or in use. A rollout ' +
      'needs the devices of one pod in addition to those of the running pods. Request fewer ({gpu}, and resources of sidecars ' +
      'and init_containers), check the name of the resource, or ask the administrator of the cluster for nodes that have it.',
  },
  {
    said: /topology spread constraints|pod anti-affinity|pod affinity|node affinity\/selector|node\(s\) didn't match/i,
    text:
      'Scheduling rules (affinity, node selectors, topology) exclude nodes that have room. Berth sets no mandatory rules ' +
      'except those of {placement}. Check that nodes have the labels that node_selector and affinity name there, and ' +
      'PATCH the field. If it is not set, ask the administrator of the cluster which policy or admission webhook adds ' +
      'rules.',
    ofService:
      'Scheduling rules (affinity, node selectors, topology) exclude nodes that have room. Berth sets no such rules. Ask the ' +
      'administrator of the cluster which policy or admission webhook adds them.',
  },
  {
    said: RESERVED_NODES,
    text:
      'If the nodes that have these labels or devices also have a taint, add a toleration for it to ' +
      '{placement}.tolerations. The policy of the platform lists the allowed tolerations (placement.tolerations).',
    ofService: '',
  },
  {
    said: /ephemeral local storage usage exceeds|ephemeral storage usage exceeds|usage of EmptyDir volume/i,
    text:
      'The node ended the pod because the pod wrote more to disk than the limit that the message names. Make the ' +
      'app write less, give its emptyDir volume a larger sizeLimit, or ask the administrator of the platform to ' +
      'raise BERTH_EPHEMERAL_STORAGE_LIMIT.',
  },
  {
    said: /node was low on resource|node had condition/i,
    text: 'The node ended the pod to free the resource that the message names. Request as much memory as the app uses ({memory}), or ask the administrator of the cluster for larger or more nodes.',
  },
  {
    said: /free ports/i,
    text: 'A hostPort of the pod is in use on every node. Remove the hostPort from sidecars and init_containers.',
  },
];

/** Control-plane nodes nearly always have a taint, so this cause is used only if no other cause applies. */
const TAINTED: CauseOfReason = {
  said: /untolerated taint|had taint|were unschedulable/i,
  text:
    'The nodes are reserved or cordoned (taints). Ask the administrator of the cluster for nodes that accept ordinary ' +
    'pods, or add a toleration for the taint of the nodes to {placement}.tolerations. The policy of the ' +
    'platform lists the allowed tolerations (placement.tolerations).',
  ofService:
    'The nodes are reserved or cordoned (taints). Ask the administrator of the cluster for nodes that accept ordinary pods.',
};

const MISSING_FILES: readonly CauseOfReason[] = [
  {
    said: /references non-existent (?:secret|config) key|couldn't find key|non-existent key/i,
    text: 'Add the key that the message names to its Secret or ConfigMap, or change {field}.',
  },
  {
    said: /secret "?[^"]{1,253}"? not found/i,
    text: 'Create the Secret that the message names, in the namespace of the deployment, or change {field}.',
  },
  {
    said: /configmap "?[^"]{1,253}"? not found/i,
    text: 'Create the ConfigMap that the message names, in the namespace of the deployment, or change {field}.',
  },
];

const MOUNT_FAILED: readonly CauseOfReason[] = [
  { said: /Multi-Attach error/i, text: OTHER_NODE, ofService: DATABASE_ON_OTHER_NODE },
  {
    said: /persistentvolumeclaim "[^"]{1,253}" not found/i,
    text: 'Create the PersistentVolumeClaim that the message names, in the namespace of the deployment, or change {volume}.',
  },
  ...MISSING_FILES,
  {
    said: /driver name \S+ not found|CSINode \S+ does not contain driver/i,
    text:
      'The node does not have the CSI driver of the volume. Ask the administrator of the cluster to install the ' +
      'CSI driver, or change {volume}.',
  },
  {
    said: /mount\.nfs|access denied by server|No route to host|Connection (?:refused|timed out)|no such host/i,
    text: 'The server of the volume does not respond to the node, or denies access. Check that server and path in {volume} are correct, and that the server exports the path to the nodes.',
  },
  {
    said: /AttachVolume\.|FailedAttachVolume/i,
    text:
      'The storage system does not attach the volume in {volume} to the node. Ask the administrator of the ' +
      'cluster to find the cause in the CSI driver.',
  },
];

const PULL_FAILED: readonly CauseOfReason[] = [
  {
    said: /\b429\b|too ?many ?requests|rate ?limit/i,
    text: 'The registry limits the rate of requests, and the limit is reached. Wait, use credentials with a higher limit in source_config.resource_spec.image_pull_secrets, or push the image to another registry.',
  },
  {
    said: /x509|certificate/i,
    text: 'The nodes do not trust the certificate of the registry. Ask the administrator of the cluster, or use another registry.',
  },
  {
    said: /no such host|connection (?:refused|reset)|i\/o timeout|dial tcp|TLS handshake timeout|deadline exceeded|\bEOF\b|\b50[0234]\b|bad gateway|service unavailable|internal server error|no route to host/i,
    text:
      'The registry does not respond to the nodes. Check that the name of the registry in the image is correct ' +
      'and that the registry runs. Ask the administrator of the cluster whether the nodes can reach the registry.',
  },
  {
    said: /no match for platform|no matching manifest|exec format/i,
    text: 'The image is not built for the processors of the nodes. Build the image also for the platform of the nodes.',
  },
  {
    said: /no space left on device/i,
    text:
      'The disk of the node is full. The administrator of the cluster has to free space. A smaller image also ' +
      'helps.',
  },
  {
    // Docker Hub sends the same message for missing and for private images.
    said: /repository does not exist or may require|insufficient_scope|pull access denied/i,
    text: 'The image does not exist under this name, or is private. Check the name, and check that source_config.resource_spec.image_pull_secrets names a Secret with credentials that can pull it.',
  },
  {
    said: /\b40[13]\b|unauthorized|authentication required|authorization failed|no basic auth|denied/i,
    text: 'The registry requires other credentials. Check that source_config.resource_spec.image_pull_secrets names a Secret in the namespace of the deployment whose credentials can pull this image.',
  },
  {
    said: /not found|manifest unknown|name unknown|\b404\b/i,
    text:
      'The registry does not have the image. Check the name and tag of the image, or push the image. Some registries ' +
      'also report ' +
      'this for private images, whose credentials must be in source_config.resource_spec.image_pull_secrets.',
  },
];

const QUOTA: readonly CauseOfReason[] = [
  {
    said: /requests\.cpu|requested: (?:[^:]{0,400},)?cpu=/i,
    text: 'The quota has no CPU left: request less ({cpu}).',
  },
  { said: /limits\.cpu/i, text: 'The quota has no CPU limit left: lower {cpuLimit}.' },
  {
    said: /requests\.memory|requested: (?:[^:]{0,400},)?memory=/i,
    text: 'The quota has no memory left: request less ({memory}).',
  },
  { said: /limits\.memory/i, text: 'The quota has no memory limit left: lower {memoryLimit}.' },
  {
    said: /requests\.[a-z0-9.-]{1,253}\/[a-z0-9._-]{1,63}/i,
    text: 'The quota has no GPUs or other devices left of the kind that the message names: request fewer ({gpu}).',
  },
  {
    said: /requests\.storage|persistentvolumeclaims/i,
    text: 'The quota has no storage left: lower db_storage_gi, down to the capacity of the volume.',
  },
  {
    said: /ephemeral-storage/i,
    text:
      'The quota has no ephemeral-storage left: lower the requests and limits of sidecars and init_containers, or ask ' +
      'the administrator of the platform to lower BERTH_EPHEMERAL_STORAGE_REQUEST and BERTH_EPHEMERAL_STORAGE_LIMIT.',
  },
  {
    said: /[ :,](?:count\/)?pods=/i,
    text:
      'The quota allows no more pods: use fewer pods ({scale}). A rollout needs one pod in addition to the ' +
      'running pods.',
  },
  {
    said: /requested: [^:]{0,400}(?:count\/|services|secrets|configmaps)/i,
    text: 'The quota allows no more objects of the kind that the message names.',
  },
];

const QUOTA_END =
  'You can also reduce the usage of others in the namespace, or ask the administrator of the platform for a larger ' +
  'quota. Berth computes the quota of the namespace of a tenant from the quotas of the tenant: GET /v2/usage shows ' +
  'them, and an admin changes them with PATCH /v2/tenants/{id}. The administrator of the cluster sets the quota ' +
  'of any other namespace.';

const ADMISSION: readonly CauseOfReason[] = [
  {
    said: /(?:maximum|minimum) (?:cpu|memory|ephemeral-storage) usage per|max limit to request ratio/i,
    text: 'A LimitRange of the namespace sets bounds for a container or pod, which the message names. Change {cpu}, {cpuLimit}, {memory} or {memoryLimit} to fit, or ask the administrator of the platform to change the LimitRange, or BERTH_EPHEMERAL_STORAGE_REQUEST and BERTH_EPHEMERAL_STORAGE_LIMIT.',
  },
  {
    said: /must specify (?:limits|requests)/i,
    text:
      'A quota of the namespace requires requests and limits on every container. Set requests and limits in ' +
      'sidecars and init_containers, or ask the administrator of the cluster for a LimitRange with defaults.',
  },
  {
    said: /service ?account \S+(?: not found|: serviceaccount)|serviceaccount "[^"]{1,253}" not found/i,
    text: 'Create the ServiceAccount that source_config.resource_spec.service_account_name names, in the namespace of the deployment, or PATCH the field.',
  },
  {
    said: /violates PodSecurity/i,
    text:
      'The Pod Security level of the namespace does not allow the fields that the message names. Change ' +
      'source_config.security_profile (restricted meets every level, baseline does not meet the level restricted), or the ' +
      'volumes and the securityContext of sidecars and init_containers in source_config.resource_spec.',
  },
  {
    said: /failed calling webhook|context deadline exceeded|connection refused/i,
    text:
      'An admission webhook of the cluster does not respond. The administrator of the cluster has to repair the ' +
      'webhook. The pods are then created without further action.',
  },
];

const CONTAINER_CONFIG: readonly CauseOfReason[] = [
  {
    said: /PodSandBox|NetworkNotReady|cni plugin/i,
    text:
      'The node cannot start the pod, because the network or the container runtime of the node does not work. ' +
      'Give the message to the administrator of the cluster. The pod starts when the node works again.',
  },
  ...MISSING_FILES,
  {
    said: /runAsNonRoot|will run as root|non-numeric user/i,
    text:
      'The image runs as root, or as a user without a numeric id, which the security profile restricted and cloud mode ' +
      'do not allow. Set a numeric USER other than 0 in the image, set runAsUser in the securityContext of the ' +
      'container, or change source_config.security_profile.',
  },
  {
    said: /executable file not found|no such file or directory|permission denied|exec format error/i,
    text: 'The command of the container cannot be started. Check the command and args of the container (for the app: source_revision_config.commands), and the entry point and platform of the image.',
  },
];

/** Messages of a failed probe. Only a health check of the deployment is configured by a field. */
const CHECK_FAILED = 'Change the app, or change the check in source_config.health_checks.';
const READINESS: readonly CauseOfReason[] = [
  {
    said: /HTTP probe failed with statuscode/i,
    text: `The health check gets the status code that the message names, and needs 2xx or 3xx. Check that the path of the check exists and needs no login. ${CHECK_FAILED}`,
  },
  {
    said: /probe (?:failed|errored).{0,2000}(?:connection refused|no route to host|connection reset)/is,
    text: `Nothing accepts connections on the port of the health check. Check that the app listens on that port, on all addresses. ${CHECK_FAILED}`,
  },
  {
    said: /probe (?:failed|errored).{0,2000}(?:deadline exceeded|timed? ?out|Client\.Timeout)/is,
    text: `The health check gets no answer in time. Raise timeout_seconds, or give the app more cpu ({cpu}). ${CHECK_FAILED}`,
  },
  {
    said: /(?:startup|readiness|liveness) probe (?:failed|errored)/i,
    text: `The health check fails, with the answer in the message. ${CHECK_FAILED}`,
  },
];

const CRASH: readonly CauseOfReason[] = [
  {
    said: /last health check: /i,
    text:
      'The cluster ended the container because its health check failed, with the answer in the message. If the app needs ' +
      `longer to start, raise startup_seconds. ${CHECK_FAILED}`,
  },
  {
    said: /OOMKilled|exit(?: code)? 137\b/i,
    text: 'The container needs more memory than its limit: raise {memoryLimit}, or make the container use less.',
  },
  {
    said: /exit(?: code)? 12[67]\b/i,
    text: 'The command does not exist in the image, or is not executable. Check command and args (for the app: source_revision_config.commands), and the entry point of the image.',
  },
  {
    said: /operation not permitted|permission denied/i,
    text:
      'The container may not do what its output names. If the image starts as root and needs the default capabilities ' +
      'of the container runtime (for example to bind a port below 1024, to change the owner of files or to change the ' +
      'user), set source_config.security_profile to baseline, which is not available in cloud mode. Otherwise correct ' +
      'the owner or the mode of the file in the image.',
  },
];

export const CAUSES_OF_REASONS: Partial<
  Readonly<
    Record<
      Reason,
      {
        readonly causes: readonly CauseOfReason[];
        /** The text to use if none of the causes applies. */
        readonly otherwise?: CauseOfReason;
        /** A text to append to the text of each cause. */
        readonly end?: string;
      }
    >
  >
> = {
  Unschedulable: {
    causes: UNSCHEDULABLE,
    otherwise: TAINTED,
    end: 'A waiting pod starts when a node has enough resources.',
  },
  MountFailed: { causes: MOUNT_FAILED },
  ImagePullFailed: { causes: PULL_FAILED },
  QuotaExceeded: { causes: QUOTA, end: QUOTA_END },
  AdmissionRefused: { causes: ADMISSION },
  Refused: { causes: ADMISSION },
  ContainerConfigInvalid: { causes: CONTAINER_CONFIG },
  CrashLoop: { causes: CRASH },
  ReadinessFailed: { causes: READINESS },
};
