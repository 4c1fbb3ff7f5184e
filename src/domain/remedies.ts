import { REASONS, type Reason } from './conditions.ts';

/** What to do about each reason, for somebody who knows neither Berth nor Kubernetes. One entry for each of REASONS. */

/**
 * `act`: somebody has to do this. `wait`: it goes on by itself; the text says when to worry. `fine`: nothing is wrong.
 * `history`: stands in events only, never on a revision or a condition.
 */
export type Remedy =
  | { readonly kind: 'act' | 'wait'; readonly text: string }
  | { readonly kind: 'fine' | 'history' };

const act = (text: string): Remedy => ({ kind: 'act', text });
const wait = (text: string): Remedy => ({ kind: 'wait', text });
const FINE: Remedy = { kind: 'fine' };
const HISTORY: Remedy = { kind: 'history' };

/** What a failed revision needs besides. */
export const AGAIN =
  'A failed revision is not tried again. A PATCH of source_revision_config or secrets makes a new one; after a change of source_config, or of something outside of the deployment, POST …/revisions/{id}/redeploy. A change of source_config that failed on the revision that serves is tried again with the next change of it.';

const BUILD_AGAIN =
  'A failed build is not tried again. A PATCH of source_revision_config or secrets makes a new revision; after a change of source_config, of the repository or of anything outside of the deployment, POST …/revisions: it builds the newest commit of the branch.';

/** The remedy of each reason. */
export const REMEDIES: Readonly<Record<Reason, Remedy>> = {
  // data services
  DatabaseAvailable: FINE,
  DatabaseStarting: wait(
    'The database of the deployment starts, the first time within a minute or two. If it stays so, the message names what its pod waits for: room on a node or in the quota of the namespace (db_cpu, db_memory_mb), a volume (db_storage_gi, the StorageClass of the cluster) or its image.',
  ),
  DatabaseUnavailable: wait(
    'The database of the deployment has stopped answering; the message names its pod and why. The cluster starts it again, with its data, and the deployment is READY once it answers. If it stays so: its node or its volume is out of reach, or it lacks memory (db_memory_mb).',
  ),
  ExternalDatabase: FINE,
  CacheAvailable: FINE,
  CacheStarting: wait(
    'The cache of the deployment starts, usually within seconds. If it stays so, the message names what its pod waits for: room on a node or in the quota of the namespace (cache_cpu, cache_memory_mb) or its image.',
  ),
  CacheUnavailable: wait(
    'The cache of the deployment has stopped answering; the message names its pod and why. The cluster starts it again, empty. If it stays so: its node is out of reach, or it lacks memory (cache_memory_mb).',
  ),
  ExternalCache: FINE,
  VolumeNotExpandable: act(
    'Ask the platform for a StorageClass with allowVolumeExpansion, or PATCH db_storage_gi back to its former value: any size down to the capacity of the volume is accepted.',
  ),
  VolumeResizing: wait(
    'The storage system expands the volume, usually within minutes. If it stays so, the message says what it waits for. PATCH db_storage_gi takes the expansion back: to any size down to the capacity of the volume.',
  ),
  VolumeBeingDeleted: act(
    'Somebody deleted the volume claim of the database; the running pod is all that keeps it. Whoever runs the cluster saves the data now, as the message says: a dump, and the reclaim policy Retain on its PersistentVolume. After that, delete the pod: the database comes back with an empty volume, into which the dump goes.',
  ),
  VolumeLost: act(
    'The PersistentVolume that the message names was deleted. While the pod of the database runs, save the data: run pg_dumpall in the pod and store its output outside of it. To use a restored PersistentVolume, bind it to the claim again. To start with an empty volume, delete the claim and then the pod of the database.',
  ),
  CredentialsLost: act(
    'Somebody deleted both Secrets with the password of the database. Whoever runs the cluster makes one of them again, as the message says; no other password is made up, for the running app knows only the old one.',
  ),
  EnvironmentMissing: wait(
    'Somebody deleted the Secret with the environment of the app, or with the credentials for its image. It is made again within seconds; if it is not, look at the listener. Of a resource applied by hand, make the Secret yourself.',
  ),
  // image
  ImageGiven: FINE,
  ImageResolved: FINE,
  ImageResolving: wait(
    'The registry is asked for the digest of the image, for seconds; without an answer the image is used as given.',
  ),
  ImageUnresolved: act(
    'Nothing, if the tag never moves: the revision runs. Else pods that start later may run another image than those that run now, and a rollback takes the tag as it then is: name the image by its digest in image_uri, or see to it that the operator reaches the registry and that image_pull_secrets names credentials for it, and redeploy.',
  ),
  ImageNotFound: act(
    `The image was deleted from its registry: push the very same one again, or deploy another one (PATCH source_revision_config.image_uri). ${AGAIN}`,
  ),
  AwaitingBuild: wait(
    'The image is to be built from the repository; where something holds its build, the condition ImageReady says what. If no build begins within minutes, ask the platform whether it builds; a deployment of the source internal_image runs an image that you build yourself.',
  ),
  NoImage: act(
    'Name an image: PATCH source_revision_config.image_uri. Until then nothing but database and cache could run.',
  ),
  // builds
  Building: wait(
    'The image is built within minutes; GET …/revisions/{id} says which step runs. What runs meanwhile is not touched. At its time limit the build fails by itself.',
  ),
  ImageBuilt: FINE,
  BuildFailed: act(
    `Mend what the last lines of the build tell of, in the repository or in install_command and build_command. ${BUILD_AGAIN}`,
  ),
  BuildConfigInvalid: act(
    `Mend the file that source_revision_config.workflow_config_path names, or PATCH the path. ${BUILD_AGAIN}`,
  ),
  RefNotFound: act(
    `PATCH source_revision_config.repo_ref to a branch, refs/tags/NAME or full commit id that the repository has. ${BUILD_AGAIN}`,
  ),
  GitHostRefused: act(
    `See that repo_url is right and that the token of the integration may read the repository (PATCH /v2/integrations/{id} gives it a new token); a private repository needs an integration. ${BUILD_AGAIN}`,
  ),
  GitHostUnavailable: act(
    `It was tried a few times. See whether the git host answers, and lets this platform in. ${BUILD_AGAIN}`,
  ),
  RegistryRefused: act(
    `Those who run the platform have to look: the registry does not take what builds push (credentials, quota, a rule of its own). ${BUILD_AGAIN}`,
  ),
  RegistryUnavailable: act(
    `It was tried a few times. Those who run the platform have to look after the registry. ${BUILD_AGAIN}`,
  ),
  BuildTooLarge: act(
    `Make the build smaller (fewer or smaller files and layers, less memory in build_command), or ask those who run the platform for more (BERTH_BUILD_MEMORY, BERTH_BUILD_WORKSPACE). ${BUILD_AGAIN}`,
  ),
  BuildTimeout: act(
    `Make the build faster, or ask those who run the platform for more time (BERTH_BUILD_TIMEOUT_SECONDS). ${BUILD_AGAIN}`,
  ),
  BuildLost: act(
    `Nodes or pods of the build were lost, or somebody deleted them; those who run the cluster know. ${BUILD_AGAIN}`,
  ),
  BuildsUnavailable: act(
    `Those who run the platform have to set what builds need (docs/builds.md, For the platform). ${BUILD_AGAIN}`,
  ),
  // rollout
  AwaitingDataServices: wait(
    'The rollout starts by itself once database and cache are ready; their conditions say what they wait for.',
  ),
  RolloutInProgress: wait(
    'Components are being updated. If it takes long, the conditions name the pod that is awaited; at its deadline the rollout fails by itself.',
  ),
  RolloutComplete: FINE,
  RolloutFailed: act(`Mend what the message names. ${AGAIN}`),
  RolloutDeadlineExceeded: act(
    `Look at what the message says was still awaited: an app that starts slowly, too small cpu or memory_mb, or no room in the cluster. ${AGAIN}`,
  ),
  RolledBack: act(`What ran before serves again. Mend what the message names. ${AGAIN}`),
  Interrupted: act(
    'Nothing, if the newer revision is the one you want. To have this one: POST …/revisions/{id}/rollback makes a new revision of its content.',
  ),
  Superseded: act(
    'Nothing, if the newer revision is the one you want. To have this one: POST …/revisions/{id}/rollback makes a new revision of its content.',
  ),
  SwitchedOff: act('PATCH source_config.resource_spec.max_scale to 1 or more to switch the deployment on.'),
  NoRevision: act('PATCH source_revision_config.image_uri: an image makes the first revision.'),
  Available: FINE,
  Unavailable: wait(
    'No pod of the active revision answers. If that lasts, the other conditions name the pod and the reason; roll back to a revision that worked with POST …/revisions/{id}/rollback.',
  ),
  Converged: FINE,
  Reconciling: wait(
    'The cluster is being brought to what is wanted, usually within seconds. If it stays so for minutes, ask the platform to look at the log of the operator.',
  ),
  ReconcileFailed: wait(
    'The call is tried again by itself. If it stays so for minutes, give the message to those who run the cluster.',
  ),
  Conflict: act(
    'Rename or remove the object that the message names, or make the deployment in another namespace; Berth does not touch what it did not make.',
  ),
  TakingOver: wait(
    'What the other resource runs is being stopped, usually within a minute; then this one starts. Remove the ManagedDeployment that the message names: it has the id of this one.',
  ),
  Refused: act(
    `Change what the message names: a rule of the cluster (quota, admission, missing rights) refuses it. If the rule is wrong, ask those who run the cluster. ${AGAIN}`,
  ),
  FieldsChangedByCluster: act(
    'A mutating admission policy or webhook of the cluster changes what Berth writes, or adds fields to it; the message names the object and the fields. If Ready is True, the changes are safe and nothing has to be done. Otherwise those who run the cluster change the policy or exclude the objects that carry app.kubernetes.io/managed-by: berth from it. Berth tries again every 30 seconds: what waits goes on by itself within a minute. docs/operations.md lists the safe changes. A revision that has failed for it at its deadline needs POST …/revisions/{id}/redeploy.',
  ),
  Paused: act(
    'Whoever set the annotation berth.dev/paused on the ManagedDeployment has to remove it: kubectl annotate mdep NAME berth.dev/paused-',
  ),
  Resumed: HISTORY,
  // way in
  RouteExists: FINE,
  RoutePending: wait(
    'The route is made within seconds. If a gateway does not accept it: see whether the controller of the Gateway runs, and whether the Gateway that the message names exists.',
  ),
  RouteRefused: act(
    'Do what the message asks for. Of a gateway: most often its listener has another host name, or lets no routes of this namespace in (allowedRoutes). A host that is taken is free as soon as the other one gives it up. Or PATCH custom_url.',
  ),
  RouteUnsupported: act(
    'Those who run the cluster install the Gateway API (it is noticed by itself), or configure Ingress instead (BERTH_ROUTING). Everything but the way in works without it.',
  ),
  // failures of pods
  InvalidImageName: act(
    `PATCH source_revision_config.image_uri (or the image of the container named, in source_config.resource_spec) to a valid one. ${AGAIN}`,
  ),
  ImagePullFailed: act(
    `Check that the image exists under exactly this name and tag, and that the cluster may pull it: source_config.resource_spec.image_pull_secrets names a Secret with the registry's credentials. ${AGAIN}`,
  ),
  ContainerConfigInvalid: act(
    `Make the Secret, ConfigMap or key that the message names, in the deployment's namespace, or PATCH the field that refers to it. ${AGAIN}`,
  ),
  CrashLoop: act(
    `The container ends by itself: its exit code and last words are in the message. 137 often means too little memory (memory_limit_mb), 127 a command that does not exist. Mend the image, its secrets or its command. ${AGAIN}`,
  ),
  Unschedulable: act(
    `Ask for less (cpu, memory_mb, scales of source_config.resource_spec; for the database db_cpu, db_memory_mb), or ask those who run the cluster for room; a pod that waits starts by itself once there is some. ${AGAIN}`,
  ),
  QuotaExceeded: act(
    `Ask for less (cpu, memory_mb, scales of source_config.resource_spec; db_storage_gi down to what the volume has), free what others use in the namespace, or ask those who run the platform for more: the quota of a tenant's own namespace follows from the tenant's quotas (GET /v2/usage shows them, an admin changes them with PATCH /v2/tenants/{id}), that of any other is the cluster's. ${AGAIN}`,
  ),
  AdmissionRefused: act(
    `A rule of the cluster refuses the pod, or something that the pod names is not there. Change the field at the end of the message or, where it names none, what it says of containers and volumes (source_config.resource_spec); or have the missing object made. ${AGAIN}`,
  ),
  MountFailed: act(
    `Make the Secret, ConfigMap or PersistentVolumeClaim that the message names, in the deployment’s namespace, or PATCH the field that names it, below source_config.resource_spec.volumes. ${AGAIN}`,
  ),
  ReadinessFailed: act(
    `The app runs, but does not answer its probe: check that it listens on the port of the variable PORT, on all addresses, and that it is ready soon enough. ${AGAIN}`,
  ),
  NodeLost: act(
    `The node of the pod did not answer: ask those who run the cluster to bring it back or to remove it. ${AGAIN}`,
  ),
  Recovered: HISTORY,
  // hub
  ListenerNeverSeen: act(
    'Start the listener of the cluster: `berth listener` with BERTH_LISTENER_ID and a key of the scope listeners:run; or make the deployment with the listener_id of one that runs.',
  ),
  ListenerLost: act(
    'See whether the listener in the cluster runs and reaches this API (its pod, its log, its API key). Workloads go on without it; only their state is not known.',
  ),
  ListenerReturned: HISTORY,
  ClusterUnreachable: act(
    'See whether the API server of the cluster answers its listener (the log of the listener says how it fails). Workloads may go on; only their state is not known.',
  ),
  ListenerCreated: HISTORY,
  ListenerChanged: HISTORY,
  ListenerDeleted: HISTORY,
  UnknownResource: HISTORY,
  IntegrationCreated: HISTORY,
  IntegrationChanged: HISTORY,
  IntegrationDeleted: HISTORY,
  TracingProjectCreated: HISTORY,
  TracingProjectFailed: HISTORY,
  TracingProjectDeleted: HISTORY,
  TagCreated: HISTORY,
  TagChanged: HISTORY,
  TagDeleted: HISTORY,
  TenantCreated: HISTORY,
  TenantChanged: HISTORY,
  TenantDeleted: HISTORY,
  ApiKeyCreated: HISTORY,
  ApiKeyRevoked: HISTORY,
  Created: HISTORY,
  Patched: HISTORY,
  PushTokenIssued: HISTORY,
  CommitPushed: HISTORY,
  PushNotBuilt: HISTORY,
  BranchUnreadable: HISTORY,
  BranchReadable: HISTORY,
  DeletionRequested: act(
    'Nothing, if the deployment is to go. Within its grace, POST /v2/deployments/{id}/restore takes the deletion back.',
  ),
  BeingDeleted: wait(
    'Nothing, if it is to go: what blocks it is named under a reason of its own. Deleted by mistake it comes back by itself, with its data.',
  ),
  FinalizerBlocks: act(
    'The controller that set the finalizer named in the message has work to do before the object may go: see whether it runs, and its log. If that controller no longer exists, those who run the cluster remove the finalizer (kubectl edit). The deletion then ends by itself within seconds.',
  ),
  VolumeInUse: act(
    'Delete the pod that the message names, or let it end. Kubernetes keeps a volume claim for as long as a pod uses it; after that the deletion ends by itself within seconds.',
  ),
  PodNotEnding: act(
    'See whether the node that the message names is up (kubectl get nodes). If it does not come back, delete the Node object, or give it the taint node.kubernetes.io/out-of-service; only where nothing of the pod runs any more, kubectl delete pod --force. The deletion then ends by itself within seconds.',
  ),
  DeletionRefused: act(
    'A rule of the cluster (admission webhook, ValidatingAdmissionPolicy) refuses to delete the object that the message names. Those who run the cluster change the rule or make an exception for Berth and for the garbage collector. The deletion is tried again at least every minute.',
  ),
  DeletionForbidden: act(
    'Give the ServiceAccount that the message names the right that it lacks: the roles in manifests/ hold all of them; berth listener doctor lists what is missing. The deletion is tried again at least every minute.',
  ),
  DependentsLeft: act(
    'Delete the object that the message names, or find out what keeps the garbage collector (kube-controller-manager) from it: kubectl get events, its finalizers, and those of objects that it owns (ReplicaSets, pods).',
  ),
  NamespaceTerminating: act(
    'The namespace is being deleted, and nothing can be made in it. If it does not end, see what is left in it (kubectl get namespace -o yaml, status.conditions) and remove what holds that. To go on, make the namespace again once it is gone: the deployment is then applied again within a minute. Otherwise delete the deployment.',
  ),
  Deleted: HISTORY,
  RollbackRequested: HISTORY,
  RedeployRequested: HISTORY,
  RevisionRequested: HISTORY,
  Forgotten: HISTORY,
  Restored: HISTORY,
  SecretsUnreadable: act(
    'Those who run this API have to put the encryption key back into BERTH_ENCRYPTION_KEYS; if it is lost for good, PATCH the deployment with the whole list of secrets anew; where that was done, and the build of it failed, POST …/revisions.',
  ),
  TokenUnreadable: act(
    'PATCH /v2/integrations/{id}, which the message names, with a token; or those who run this API put the encryption key back into BERTH_ENCRYPTION_KEYS.',
  ),
  RecordInvalid: act(
    'Those who run this API have to look: the stored deployment does not make a valid custom resource. A PATCH of the field that the message names may mend it.',
  ),
  ApplyRefused: act(
    'Change what the message names, then the deployment is tried again; if the fault is in the cluster (rights, custom resource definition), ask those who run it.',
  ),
  NamespaceNotAllowed: act(
    'Add the namespace to compute_config.k8s_namespaces of the listener (PATCH /v2/listeners/{id}) or to BERTH_NAMESPACES where it runs, or make the deployment in a namespace of the list.',
  ),
  ObjectRecreated: HISTORY,
  ObjectCorrected: HISTORY,
};

/** The remedy of any reason; of one that is not of the closed list (a custom resource written by hand): null. */
export function remedyOf(reason: string): Remedy | null {
  return Object.hasOwn(REASONS, reason) ? REMEDIES[reason as Reason] : null;
}
