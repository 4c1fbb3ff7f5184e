import type { Reason } from './conditions.ts';

/**
 * What to do about the causes of one reason. A reason such as Unschedulable covers several causes; the words of the cluster
 * tell which one it is. The texts hold the placeholders of remedy-for.ts.
 */
export interface CauseOfReason {
  /** What the cluster says of this cause. */
  readonly said: RegExp;
  readonly text: string;
  /** Of the volume of the database, which no field of `volumes` names. */
  readonly ofDatabase?: string;
}

/** The volume is in use by another pod: ReadWriteOncePod (scheduler), or ReadWriteOnce on another node (attach controller). */
export const VOLUME_IN_USE =
  /ReadWriteOncePod|pod using PersistentVolumeClaim with the same name|Multi-Attach error/i;

/** The cluster speaks of the volume of a claim, without the name of the claim or of the pod's volume. */
export const UNNAMED_CLAIM =
  /ReadWriteOncePod|pod using PersistentVolumeClaim|Multi-Attach error|volume node affinity conflict|unbound (?:immediate )?PersistentVolumeClaim|available persistent volumes to bind|max volume count|volume "pvc-|AttachVolume\.|driver name \S+ not found|node\(s\) unavailable due to one or more pvc/i;

const ONE_POD =
  'Only one pod at a time can use the volume (access mode ReadWriteOncePod), and another pod has it: every component mounts it, and so does every pod of an autoscaled one. Run a single pod (max_scale 1, and the other components off), or name a claim with the access mode ReadWriteMany in {volume}.';
const OTHER_NODE =
  'The volume is attached to another node, where another pod uses it (access mode ReadWriteOnce). Run a single pod (max_scale 1, and the other components off), end the other pod that uses it, or name a claim with the access mode ReadWriteMany in {volume}. If the other node is lost, the administrator of the cluster removes its pods.';

const DATABASE_ON_OTHER_NODE =
  'The volume of the database is still attached to another node. It is detached once the pod there has ended; if that node is lost, the administrator of the cluster removes its pod or the node.';

const UNSCHEDULABLE: readonly CauseOfReason[] = [
  { said: /ReadWriteOncePod|pod using PersistentVolumeClaim with the same name/i, text: ONE_POD },
  {
    said: /persistentvolumeclaim "[^"]{1,253}" not found/i,
    text: 'Make the PersistentVolumeClaim that the message names, or change {volume}.',
  },
  {
    said: /unbound (?:immediate )?PersistentVolumeClaim|available persistent volumes to bind|pvc\(s\) bound to non-existent pv/i,
    text: 'The claim in {volume} has no volume yet: see what its Events say (a StorageClass that does not exist, no capacity, no provisioner), and ask the administrator of the cluster; or change {volume}.',
    ofDatabase:
      'The claim of the database has no volume yet: see what its Events say (a StorageClass that does not exist, no capacity, no provisioner), and ask the administrator of the cluster; a smaller db_storage_gi may help.',
  },
  {
    said: /volume node affinity conflict/i,
    text: 'The volume in {volume} can be reached from certain nodes only (its zone, or one node), and these do not take the pod. Ask the administrator of the cluster for room on those nodes, or name a claim in {volume} whose volume other nodes reach.',
    ofDatabase:
      'The volume of the database can be reached from certain nodes only (its zone, or one node), and these do not take the pod. Ask the administrator of the cluster for room on those nodes.',
  },
  {
    said: /max volume count/i,
    text: 'The nodes have as many volumes attached as they can. Use fewer volumes ({volume}), or ask the administrator of the cluster for more nodes.',
  },
  {
    said: /Insufficient cpu/i,
    text: 'Ask for less CPU ({cpu}), or ask the administrator of the cluster for larger or more nodes.',
  },
  {
    said: /Insufficient memory/i,
    text: 'Ask for less memory ({memory}), or ask the administrator of the cluster for larger or more nodes.',
  },
  {
    said: /Insufficient ephemeral-storage/i,
    text: 'Ask for less ephemeral-storage (requests of sidecars and init_containers), or ask the administrator of the cluster for nodes with more disk.',
  },
  {
    said: /Too many pods|Insufficient pods/i,
    text: 'The nodes run as many pods as they may. Ask for fewer pods ({scale}), or ask the administrator of the cluster for more nodes.',
  },
  {
    // Extended resources: a GPU, say.
    said: /Insufficient [a-z0-9.-]+\/[a-z0-9.-]+/i,
    text: 'No node has enough of the resource that the message names. Take it out of the containers that request it (sidecars, init_containers), or ask the administrator of the cluster for nodes that have it.',
  },
  {
    said: /topology spread constraints|pod anti-affinity|pod affinity|node affinity\/selector|node\(s\) didn't match/i,
    text: 'Rules about where pods may run (affinity, node selectors, topology) leave no node. Berth sets none that must hold: the administrator of the cluster knows which policy or admission webhook adds them.',
  },
  {
    said: /ephemeral local storage usage exceeds|ephemeral storage usage exceeds|usage of EmptyDir volume/i,
    text: 'The node ended the pod because it wrote more to its disk than the limit that the message names. Let the app write less, or raise that limit.',
  },
  {
    said: /node was low on resource|node had condition/i,
    text: 'The node ended the pod to free what the message names. Ask for as much memory as the app uses ({memory}), or ask the administrator of the cluster for larger or more nodes.',
  },
  {
    said: /free ports/i,
    text: 'A hostPort of the pod is taken on every node. Take the hostPort out of sidecars and init_containers.',
  },
];

/** Control-plane nodes nearly always have one: used where nothing else applies. */
const TAINTED: CauseOfReason = {
  said: /untolerated taint|had taint|were unschedulable/i,
  text: 'The nodes are reserved or closed (taints, cordoned). Ask the administrator of the cluster for nodes that take ordinary pods.',
};

const MISSING_FILES: readonly CauseOfReason[] = [
  {
    said: /references non-existent (?:secret|config) key|couldn't find key|non-existent key/i,
    text: 'Add the key that the message names to its Secret or ConfigMap, or change {field}.',
  },
  {
    said: /secret "?[^"]{1,253}"? not found/i,
    text: 'Make the Secret that the message names, in the namespace of the deployment, or change {field}.',
  },
  {
    said: /configmap "?[^"]{1,253}"? not found/i,
    text: 'Make the ConfigMap that the message names, in the namespace of the deployment, or change {field}.',
  },
];

const MOUNT_FAILED: readonly CauseOfReason[] = [
  { said: /Multi-Attach error/i, text: OTHER_NODE, ofDatabase: DATABASE_ON_OTHER_NODE },
  {
    said: /persistentvolumeclaim "[^"]{1,253}" not found/i,
    text: 'Make the PersistentVolumeClaim that the message names, in the namespace of the deployment, or change {volume}.',
  },
  ...MISSING_FILES,
  {
    said: /driver name \S+ not found|CSINode \S+ does not contain driver/i,
    text: 'The node lacks the CSI driver of the volume. Ask the administrator of the cluster to install it, or change {volume}.',
  },
  {
    said: /mount\.nfs|access denied by server|No route to host|Connection (?:refused|timed out)|no such host/i,
    text: 'The server of the volume does not answer the node, or does not let it in. See that server and path in {volume} are right and that the server exports the path to the nodes.',
  },
  {
    said: /AttachVolume\.|FailedAttachVolume/i,
    text: 'The storage system does not attach the volume in {volume} to the node. The administrator of the cluster sees why at its CSI driver.',
  },
];

const PULL_FAILED: readonly CauseOfReason[] = [
  {
    said: /\b429\b|too ?many ?requests|rate ?limit/i,
    text: 'The registry limits how often it is asked, and the limit is reached. Wait, name credentials with a higher limit in source_config.resource_spec.image_pull_secrets, or push the image to another registry.',
  },
  {
    said: /x509|certificate/i,
    text: 'The nodes do not trust the certificate of the registry. Ask the administrator of the cluster, or use another registry.',
  },
  {
    said: /no such host|connection (?:refused|reset)|i\/o timeout|dial tcp|TLS handshake timeout|deadline exceeded|\bEOF\b|\b50[0234]\b|bad gateway|service unavailable|internal server error|no route to host/i,
    text: 'The registry does not answer the nodes. See that its name in the image is right and that it runs; the administrator of the cluster knows whether the nodes reach it.',
  },
  {
    said: /no match for platform|no matching manifest|exec format/i,
    text: 'The image is not built for the processors of the nodes. Build it for them as well.',
  },
  {
    said: /no space left on device/i,
    text: 'The disk of the node is full. The administrator of the cluster frees it; a smaller image helps as well.',
  },
  {
    // Docker Hub says the same of an image that is not there and of one that is private.
    said: /repository does not exist or may require|insufficient_scope|pull access denied/i,
    text: 'The image does not exist under this name, or is private: check the name, and that source_config.resource_spec.image_pull_secrets names a Secret with credentials that may pull it.',
  },
  {
    said: /\b40[13]\b|unauthorized|authentication required|authorization failed|no basic auth|denied/i,
    text: 'The registry wants other credentials: see that source_config.resource_spec.image_pull_secrets names a Secret in the namespace of the deployment whose credentials may pull this image.',
  },
  {
    said: /not found|manifest unknown|name unknown|\b404\b/i,
    text: 'The registry has no such image: check its name and tag, or push it. Some registries say so of private images as well; source_config.resource_spec.image_pull_secrets names the credentials.',
  },
];

const QUOTA: readonly CauseOfReason[] = [
  {
    said: /requests\.cpu|requested: (?:[^:]{0,400},)?cpu=/i,
    text: 'The quota has no CPU left: ask for less ({cpu}).',
  },
  { said: /limits\.cpu/i, text: 'The quota has no CPU limit left: lower {cpuLimit}.' },
  {
    said: /requests\.memory|requested: (?:[^:]{0,400},)?memory=/i,
    text: 'The quota has no memory left: ask for less ({memory}).',
  },
  { said: /limits\.memory/i, text: 'The quota has no memory limit left: lower {memoryLimit}.' },
  {
    said: /requests\.storage|persistentvolumeclaims/i,
    text: 'The quota has no storage left: lower db_storage_gi, down to the capacity of the volume.',
  },
  {
    said: /ephemeral-storage/i,
    text: 'The quota has no ephemeral-storage left: lower the requests and limits of sidecars and init_containers.',
  },
  {
    said: /[ :,](?:count\/)?pods=/i,
    text: 'The quota has no pods left: ask for fewer pods ({scale}). A rollout needs one pod more than runs.',
  },
  {
    said: /requested: [^:]{0,400}(?:count\/|services|secrets|configmaps)/i,
    text: 'The quota allows no more objects of the kind that the message names.',
  },
];

const QUOTA_END =
  "Or free what others use in the namespace, or ask those who run the platform for more: the quota of a tenant's own namespace follows from the quotas of the tenant (GET /v2/usage shows them, an admin changes them with PATCH /v2/tenants/{id}), that of any other is the cluster's.";

const ADMISSION: readonly CauseOfReason[] = [
  {
    said: /(?:maximum|minimum) (?:cpu|memory|ephemeral-storage) usage per|max limit to request ratio/i,
    text: 'A LimitRange of the namespace sets other bounds for one container or pod, which the message names: change {cpu}, {cpuLimit}, {memory} or {memoryLimit} to fit, or ask the administrator of the cluster to change the LimitRange.',
  },
  {
    said: /must specify (?:limits|requests)/i,
    text: 'A quota of the namespace wants requests and limits on every container: give them to sidecars and init_containers, or ask the administrator of the cluster for a LimitRange with defaults.',
  },
  {
    said: /service ?account \S+(?: not found|: serviceaccount)|serviceaccount "[^"]{1,253}" not found/i,
    text: 'Make the ServiceAccount that source_config.resource_spec.service_account_name names, in the namespace of the deployment, or PATCH the field.',
  },
  {
    said: /violates PodSecurity/i,
    text: 'The Pod Security level of the namespace does not allow what the message names: change the securityContext of sidecars and init_containers, or the volumes, in source_config.resource_spec.',
  },
  {
    said: /failed calling webhook|context deadline exceeded|connection refused/i,
    text: 'An admission webhook of the cluster does not answer. The administrator of the cluster has to repair it; the pods are made by themselves afterwards.',
  },
];

const CONTAINER_CONFIG: readonly CauseOfReason[] = [
  {
    said: /PodSandBox|NetworkNotReady|cni plugin/i,
    text: 'The node cannot start the pod: its network or its container runtime does not work. Give the message to the administrator of the cluster. The pod starts by itself once the node can start it.',
  },
  ...MISSING_FILES,
  {
    said: /runAsNonRoot|will run as root|non-numeric user/i,
    text: 'The image runs as root, or as a user without a number, and may not: give it a numeric USER other than 0, or set runAsUser in the securityContext of the container.',
  },
  {
    said: /executable file not found|no such file or directory|permission denied|exec format error/i,
    text: 'The command of the container cannot be started: check the command and args of the container, and the entry point and platform of the image.',
  },
];

const CRASH: readonly CauseOfReason[] = [
  {
    said: /OOMKilled|exit(?: code)? 137\b/i,
    text: 'The container needs more memory than it may have: raise {memoryLimit}, or let it use less.',
  },
  {
    said: /exit(?: code)? 12[67]\b/i,
    text: 'The command does not exist in the image, or may not be executed: check command and args, and the entry point of the image.',
  },
];

export const CAUSES_OF_REASONS: Partial<
  Readonly<
    Record<
      Reason,
      {
        readonly causes: readonly CauseOfReason[];
        /** Where none of the causes applies. */
        readonly otherwise?: CauseOfReason;
        /** Said after any of them. */
        readonly end?: string;
      }
    >
  >
> = {
  Unschedulable: {
    causes: UNSCHEDULABLE,
    otherwise: TAINTED,
    end: 'A pod that waits starts by itself once a node takes it.',
  },
  MountFailed: { causes: MOUNT_FAILED },
  ImagePullFailed: { causes: PULL_FAILED },
  QuotaExceeded: { causes: QUOTA, end: QUOTA_END },
  AdmissionRefused: { causes: ADMISSION },
  Refused: { causes: ADMISSION },
  ContainerConfigInvalid: { causes: CONTAINER_CONFIG },
  CrashLoop: { causes: CRASH },
};
