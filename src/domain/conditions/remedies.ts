import { REASONS, type Reason } from './conditions.ts';

/**
 * The remedy of each reason, for a reader who knows neither Berth nor Kubernetes. Each reason in REASONS has one entry.
 */

/**
 * `act`: a person has to do this. `wait`: no intervention is needed. The text states when to act. `fine`: no problem
 * exists. `history`: the reason appears only in events, never on a revision or a condition.
 */
export type Remedy =
  | { readonly kind: 'act' | 'wait'; readonly text: string }
  | { readonly kind: 'fine' | 'history' };

const act = (text: string): Remedy => ({ kind: 'act', text });
const wait = (text: string): Remedy => ({ kind: 'wait', text });
const FINE: Remedy = { kind: 'fine' };
const HISTORY: Remedy = { kind: 'history' };

/** Additional steps for a failed revision. */
export const AGAIN =
  'Berth does not retry a failed revision. To create a new revision, PATCH source_revision_config or secrets. If you ' +
  'changed source_config or anything outside of the deployment, use POST …/revisions/{id}/redeploy. If a change of ' +
  'source_config failed on the active revision, the next change of source_config retries the failed change.';

const BUILD_AGAIN =
  'Berth does not retry a failed build. To create a new revision, PATCH source_revision_config or secrets. If you ' +
  'changed source_config, the repository or anything outside of the deployment, use POST …/revisions, which builds ' +
  'the newest commit of the branch, or the same uploaded folder. A changed folder is uploaded again.';

/** The remedy of each reason. */
export const REMEDIES: Readonly<Record<Reason, Remedy>> = {
  // data services
  DatabaseAvailable: FINE,
  DatabaseStarting: wait(
    'The database of the deployment is starting. The first start takes a minute or two. If the start takes longer, ' +
      'the message names what the pod of the database waits for: resources on a node or in the quota of the ' +
      'namespace (db_cpu, ' +
      'db_memory_mb), a volume (db_storage_gi, the StorageClass of the cluster) or its image.',
  ),
  DatabaseUnavailable: wait(
    'The database of the deployment no longer responds. The message names the pod of the database and the cause. The ' +
      'cluster ' +
      'restarts the database with its data, and the deployment is READY when the database responds. If the problem ' +
      'persists, the node or the volume is not reachable, or the database needs more memory (db_memory_mb).',
  ),
  ExternalDatabase: FINE,
  DatabaseDisabled: FINE,
  CacheAvailable: FINE,
  CacheStarting: wait(
    'The cache of the deployment is starting, usually within seconds. If the start takes longer, the message names ' +
      'what the pod of the cache waits for: resources on a node or in the quota of the namespace (cache_cpu, ' +
      'cache_memory_mb) or its image.',
  ),
  CacheUnavailable: wait(
    'The cache of the deployment no longer responds. The message names the pod of the cache and the cause. The ' +
      'cluster restarts ' +
      'the cache, with no content. If the problem persists, the node is not reachable, or the cache needs more ' +
      'memory (cache_memory_mb).',
  ),
  ExternalCache: FINE,
  CacheDisabled: FINE,
  VolumeNotExpandable: act(
    'Ask the administrator of the platform for a StorageClass with allowVolumeExpansion, or PATCH db_storage_gi back to its former value. Any size down to the capacity of the volume is accepted.',
  ),
  VolumeResizing: wait(
    'The storage system expands the volume, usually within minutes. If the expansion takes longer, the message ' +
      'states what the expansion waits for. To cancel the expansion, PATCH db_storage_gi to any size down to the ' +
      'capacity of the ' +
      'volume.',
  ),
  VolumeBeingDeleted: act(
    'The volume claim of the database was deleted. Only the running pod of the database still keeps the volume. The ' +
      'administrator of ' +
      'the cluster has to save the data now, with the commands in the message: create a dump, and set the reclaim ' +
      'policy of the PersistentVolume to Retain. Then delete the pod of the database. The database starts with an ' +
      'empty volume, ' +
      'into which you restore the dump.',
  ),
  VolumeLost: act(
    'The PersistentVolume that the message names was deleted. While the pod of the database runs, save the data: run pg_dumpall in the pod and store its output outside of it. To use a restored PersistentVolume, bind it to the claim again. To start with an empty volume, delete the claim and then the pod of the database.',
  ),
  CredentialsLost: act(
    'The two Secrets with the password of the database were deleted. The administrator of the cluster has to create ' +
      'one of these Secrets again, as described in the message. Berth does not generate another password, because ' +
      'the running app ' +
      'knows only the old password.',
  ),
  EnvironmentMissing: wait(
    'The Secret with the environment of the app, or with the credentials for its image, was deleted. The listener ' +
      'creates it again within seconds. If this does not happen, check the listener. For a resource applied by hand, ' +
      'create the Secret yourself.',
  ),
  // image
  ImageGiven: FINE,
  ImageResolved: FINE,
  ImageResolving: wait(
    'Berth is querying the registry for the digest of the image. The query takes seconds. Without a response, the ' +
      'image ' +
      'is used as specified.',
  ),
  ImageUnresolved: act(
    'If the tag never moves, no action is needed, because the revision runs. If the tag moves, pods that start later ' +
      'may run another image than the current pods, and a rollback uses the image that the tag refers to at that ' +
      'time. To ' +
      'prevent this, specify the image by its digest in image_uri. Or make sure that the operator can reach the ' +
      'registry and that image_pull_secrets names credentials for it, and redeploy.',
  ),
  ImageNotFound: act(
    `The image was deleted from its registry. Push exactly the same image again, or deploy another image (PATCH ` +
      `source_revision_config.image_uri). ${AGAIN}`,
  ),
  AwaitingBuild: wait(
    'The image waits to be built from the repository or the uploaded folder. If something blocks the build, the condition ImageReady contains the reason. If no build starts within minutes, ask the administrator of the platform whether it builds images. To run an image that you build yourself, use a deployment with the source internal_image.',
  ),
  NoImage: act(
    'Specify an image: PATCH source_revision_config.image_uri. Until then, only database and cache can run.',
  ),
  // builds
  Building: wait(
    'The image is built within minutes. GET …/revisions/{id} shows the current step. Running workloads do not change ' +
      'during the build. A build fails at its time limit.',
  ),
  ImageBuilt: FINE,
  BuildFailed: act(
    `Fix the error at the end of the build log, in the repository or in install_command and build_command. ${BUILD_AGAIN}`,
  ),
  BuildConfigInvalid: act(
    `Fix the file that the message names, or the path of the configuration: PATCH source_revision_config.workflow_config_path, or for an uploaded folder, upload it again. ${BUILD_AGAIN}`,
  ),
  RefNotFound: act(
    `PATCH source_revision_config.repo_ref to a branch, refs/tags/NAME or full commit id that exists in the repository. ${BUILD_AGAIN}`,
  ),
  UploadMissing: act('Deploy the folder again (berth deploy NAME FOLDER).'),
  GitHostRefused: act(
    `Check that repo_url is correct and that the token of the integration can read the repository. PATCH /v2/integrations/{id} sets a new token. A private repository needs an integration. ${BUILD_AGAIN}`,
  ),
  GitHostUnavailable: act(
    `Berth tried several times. Check that the git host responds and allows connections from this platform. ${BUILD_AGAIN}`,
  ),
  RegistryRefused: act(
    `The administrator of the platform has to check the registry, which rejects the images that builds push ` +
      `(credentials, quota, or a rule of the registry). ${BUILD_AGAIN}`,
  ),
  RegistryUnavailable: act(
    `Berth tried several times. The administrator of the platform has to check the registry. ${BUILD_AGAIN}`,
  ),
  BuildTooLarge: act(
    `Make the build smaller (fewer or smaller files and layers, less memory in build_command), or ask the administrator of the platform for higher limits (BERTH_BUILD_MEMORY, BERTH_BUILD_WORKSPACE). ${BUILD_AGAIN}`,
  ),
  BuildTimeout: act(
    `Make the build faster, or ask the administrator of the platform for more time (BERTH_BUILD_TIMEOUT_SECONDS). ${BUILD_AGAIN}`,
  ),
  BuildLost: act(
    `Nodes or pods of the build were lost, or pods were deleted. Ask the administrator of the cluster. ${BUILD_AGAIN}`,
  ),
  BuildsUnavailable: act(
    `The administrator of the platform has to configure builds (docs/builds.md, For the platform). ${BUILD_AGAIN}`,
  ),
  // rollout
  AwaitingDataServices: wait(
    'The rollout starts without intervention when database and cache are ready. The conditions DatabaseReady and ' +
      'CacheReady state what database and cache wait for.',
  ),
  ReleaseInProgress: wait(
    'The release command of the revision runs, and the active revision continues to serve. GET …/tasks lists the task, ' +
      'and its logs show the progress. To end it, cancel the task. The revision then fails.',
  ),
  TasksUnavailable: act(
    'The administrator of the cluster has to install the CustomResourceDefinition that the message names: by an upgrade of the chart ' +
      'with crds.install=true, or with kubectl apply --server-side -f crds/ (docs/install.md, Upgrade). Release commands and schedules ' +
      'then start within a minute, without another change.',
  ),
  ReleaseFailed: act(
    `Read the exit code and the last lines of the command in the message, and its logs with GET …/tasks/{id}/logs. Nothing was rolled out. Correct release_command, the image or the environment, or what the command needs: a longer release_timeout_seconds, more memory for the api component, or room in the cluster. ${AGAIN}`,
  ),
  ReleaseLost: act(
    `Another account deleted the task or the Job of the release command while it could run. Check what the command did, for example in the database, and who deleted the object. ${AGAIN}`,
  ),
  RolloutInProgress: wait(
    'Components are being updated. If the update takes long, the conditions name the pod that is not ready. A ' +
      'rollout fails at its deadline.',
  ),
  RolloutComplete: FINE,
  RolloutFailed: act(`Fix the problem that the message names. ${AGAIN}`),
  RolloutDeadlineExceeded: act(
    `Check the pod that the message names as not ready. Possible causes are an app that starts slowly, too little ` +
      `cpu or memory_mb, or missing resources in the cluster. ${AGAIN}`,
  ),
  RolledBack: act(`The previous revision serves again. Fix the problem that the message names. ${AGAIN}`),
  Interrupted: act(
    'Nothing, if you want the newer revision. To deploy this revision, use POST …/revisions/{id}/rollback, which creates a new revision with the same content.',
  ),
  Superseded: act(
    'Nothing, if you want the newer revision. To deploy this revision, use POST …/revisions/{id}/rollback, which creates a new revision with the same content.',
  ),
  SwitchedOff: act('PATCH source_config.resource_spec.max_scale to 1 or more to switch the deployment on.'),
  NoRevision: act('PATCH source_revision_config.image_uri: the image creates the first revision.'),
  Available: FINE,
  Unavailable: wait(
    'No pod of the active revision responds. If the problem persists, the other conditions name the pod and the ' +
      'reason. To roll back to a revision that worked, use POST …/revisions/{id}/rollback.',
  ),
  Converged: FINE,
  Reconciling: wait(
    'The operator is changing the cluster to the desired state, usually within seconds. If the change takes longer ' +
      'than a few minutes, ask the administrator of the platform to check the log of the operator.',
  ),
  ReconcileFailed: wait(
    'Berth retries the call. If the problem persists for some minutes, give the message to the administrator of the ' +
      'cluster.',
  ),
  Conflict: act(
    'Rename or remove the object that the message names, or create the deployment in another namespace. Berth does not change objects that it did not create.',
  ),
  TakingOver: wait(
    'The workloads of the other resource are being stopped, usually within a minute. Then the workloads of this ' +
      'deployment start. Remove the ManagedDeployment that the message names, because it has the id of this ' +
      'deployment.',
  ),
  Refused: act(
    `Change the field or object that the message names, because a rule of the cluster (quota, admission, missing ` +
      `rights) rejects it. If the rule is wrong, ask the administrator of the cluster. ${AGAIN}`,
  ),
  FieldsChangedByCluster: act(
    'A mutating admission policy or webhook of the cluster changes fields that Berth writes. The message names the ' +
      'object and the fields. If Ready is True, the changes are safe, and no action is needed. If Ready is not True, ' +
      'the administrator of the cluster has to change the policy, or exclude objects with the label ' +
      'app.kubernetes.io/managed-by: berth from the policy. Berth retries every 30 seconds, so that a waiting ' +
      'change ' +
      'continues within a minute. docs/operations.md lists the safe changes. If a revision failed at its ' +
      'deadline because of this, use POST …/revisions/{id}/redeploy.',
  ),
  Paused: act(
    'The annotation berth.dev/paused is set on the ManagedDeployment. To continue, remove the annotation: kubectl ' +
      'annotate mdep NAME berth.dev/paused-',
  ),
  Resumed: HISTORY,
  // routes
  RouteExists: FINE,
  RoutePending: wait(
    'The route is created within seconds. If a gateway does not accept the route, check that the controller of the ' +
      'Gateway runs, and that the Gateway that the message names exists.',
  ),
  RouteRefused: act(
    'Follow the message. If a gateway rejects the route, its listener usually has another host name, or does not ' +
      'allow routes of this namespace (allowedRoutes). If another deployment uses the host, the host is available ' +
      'when that deployment no longer uses it. You can also PATCH custom_url to another host.',
  ),
  DomainsRouted: FINE,
  DomainUnproven: act(
    'Create the TXT record that the message names at the DNS provider of the host. domains_status shows the record of each ' +
      'host. Berth looks it up again every few minutes, and routes the host when the record is found. The deployment serves ' +
      'under its other addresses meanwhile.',
  ),
  DomainRefused: act(
    'Remove the host from source_config.domains, or ask the administrator of the platform to allow it (domains of the policy, ' +
      'allowedRoutes and hostname of the Gateway). If another deployment uses the host, the host is available when that ' +
      'deployment gives it up.',
  ),
  DomainRoutePending: wait(
    'The route of the host is created within seconds. If it takes longer, the controller of the Gateway does not run, or the ' +
      'cluster does not have the kind of route (BERTH_ROUTING).',
  ),
  DomainWithoutDns: act(
    'Create an A, AAAA or CNAME record at the DNS provider of the host that leads to the ingress or Gateway of the cluster. Berth ' +
      'looks it up again every few minutes.',
  ),
  DomainWithoutCertificate: wait(
    'The certificate of the host is issued by cert-manager, usually within minutes of the DNS record. If it takes longer, the message ' +
      'has the reason of cert-manager: the ClusterIssuer (BERTH_TLS_ISSUER), the DNS record of the host, or a CAA record.',
  ),
  DomainUnknown: wait(
    'Berth looks the host up again within minutes. If this does not end, the DNS servers of the operator do not answer ' +
      '(BERTH_DNS_SERVERS), or Berth creates no routes in this cluster (BERTH_ROUTING).',
  ),
  SchedulesRunning: FINE,
  ScheduleRefused: act(
    'Correct the field that the message names with a PATCH of source_config.schedules, or remove the schedule. If the policy or the ' +
      'cluster rejects it, ask the administrator of the platform. The other schedules run, and the deployment serves.',
  ),
  ScheduleFailing: act(
    'Read the logs of the task that the message names (berth tasks logs), and correct the command, the schedule or the app. The ' +
      'condition ends with the next run that succeeds: berth schedules run starts one at once.',
  ),
  RouteUnsupported: act(
    'The administrator of the cluster has to install the Gateway API (Berth detects it), or configure Ingress ' +
      'instead (BERTH_ROUTING). Everything except the route works without the Gateway API.',
  ),
  // Failures of pods.
  InvalidImageName: act(
    `PATCH source_revision_config.image_uri (or the image of the container that the message names, in ` +
      `source_config.resource_spec) to a valid name. ${AGAIN}`,
  ),
  ImagePullFailed: act(
    `Check that the image exists with exactly this name and tag, and that the cluster can pull it: source_config.resource_spec.image_pull_secrets names a Secret with the credentials for the registry. ${AGAIN}`,
  ),
  ContainerConfigInvalid: act(
    `Create the Secret, ConfigMap or key that the message names, in the namespace of the deployment, or PATCH the field that refers to it. ${AGAIN}`,
  ),
  SecretReferenceMissing: act(
    `Create the Secret and the key that the message names, in the namespace of the deployment, or let the operator that manages it (such as External Secrets) create them. Or PATCH secret_references. ${AGAIN}`,
  ),
  CrashLoop: act(
    `The container ends by itself. The message contains the exit code and the last output of the container. Exit ` +
      `code 137 often means ` +
      `too little memory (memory_limit_mb), and 127 means a command that does not exist. Fix the image, the secrets ` +
      `or the command of the container. ${AGAIN}`,
  ),
  Unschedulable: act(
    `Request less (cpu, memory_mb, scales of source_config.resource_spec; for the database db_cpu, db_memory_mb), or ` +
      `ask the administrator of the cluster for more capacity. A waiting pod starts when a node has enough ` +
      `resources. ${AGAIN}`,
  ),
  QuotaExceeded: act(
    `Request less (cpu, memory_mb, scales of source_config.resource_spec; db_storage_gi down to the capacity of the ` +
      `volume), reduce the usage of others in the namespace, or ask the administrator of the platform for a larger ` +
      `quota. Berth computes the quota of the namespace of a tenant from the quotas of the tenant: GET /v2/usage ` +
      `shows them, and an admin changes them with PATCH /v2/tenants/{id}. The administrator of the cluster sets ` +
      `the quota of any other namespace. ${AGAIN}`,
  ),
  AdmissionRefused: act(
    `A rule of the cluster rejects the pod, or an object that the pod refers to does not exist. Change the field at ` +
      `the end of the message. If the message names no field, change the containers or volumes that the message is ` +
      `about (source_config.resource_spec), or create the missing object. ${AGAIN}`,
  ),
  MountFailed: act(
    `Create the Secret, ConfigMap or PersistentVolumeClaim that the message names, in the namespace of the deployment, or PATCH the field that refers to it, in source_config.resource_spec.volumes. ${AGAIN}`,
  ),
  ReadinessFailed: act(
    `The app runs, but does not respond to its probe. Check that the app listens on the port of the variable PORT ` +
      `(set by source_revision_config.port), on all addresses, and that it starts fast enough. ${AGAIN}`,
  ),
  NodeLost: act(
    `The node of the pod did not respond. Ask the administrator of the cluster to repair or remove the node. ${AGAIN}`,
  ),
  Recovered: HISTORY,
  // hub
  ListenerNeverSeen: act(
    'Start the listener of the cluster: `berth listener` with BERTH_LISTENER_ID and a key with the scope listeners:run. Or create the deployment with the listener_id of a running listener.',
  ),
  ListenerLost: act(
    'Check that the listener in the cluster runs and reaches this API (its pod, its log, its API key). Workloads ' +
      'keep running, but their state is not known.',
  ),
  ListenerReturned: HISTORY,
  ClusterUnreachable: act(
    'Check that the API server of the cluster responds to its listener. The log of the listener contains the error. ' +
      'Workloads may keep running, but their state is not known.',
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
  SignedIn: HISTORY,
  SignedOut: HISTORY,
  AccessTokenCreated: HISTORY,
  AccessTokenRevoked: HISTORY,
  Created: HISTORY,
  Patched: HISTORY,
  VolumeRemoved: HISTORY,
  TaskRequested: HISTORY,
  TaskCancelRequested: HISTORY,
  TaskEnded: HISTORY,
  PushTokenIssued: HISTORY,
  FolderUploaded: HISTORY,
  CommitPushed: HISTORY,
  PushNotBuilt: HISTORY,
  BranchUnreadable: HISTORY,
  BranchReadable: HISTORY,
  DeletionRequested: act(
    'If you want to delete the deployment, no action is needed. Within the grace period, POST ' +
      '/v2/deployments/{id}/restore cancels the deletion.',
  ),
  BeingDeleted: wait(
    'If you want to delete the deployment, no action is needed. If an object blocks the deletion, a separate reason ' +
      'names it. If the resource was deleted by mistake, Berth creates it again with its data.',
  ),
  FinalizerBlocks: act(
    'The controller that set the finalizer in the message must finish its work before the object can be deleted. ' +
      'Check that the controller runs, and read its log. If that controller no longer exists, the administrator of ' +
      'the cluster ' +
      'has to remove the finalizer (kubectl edit). The deletion then finishes within seconds.',
  ),
  VolumeInUse: act(
    'Delete the pod that the message names, or wait until it ends. Kubernetes keeps a volume claim while a pod uses it. The deletion then finishes within seconds.',
  ),
  PodNotEnding: act(
    'Check that the node that the message names is up (kubectl get nodes). If the node does not recover, delete the ' +
      'Node object, or add the taint node.kubernetes.io/out-of-service to it. Use kubectl delete pod --force only if ' +
      'no process of the pod is running. The deletion then finishes within seconds.',
  ),
  DeletionRefused: act(
    'A rule of the cluster (admission webhook, ValidatingAdmissionPolicy) rejects the deletion of the object that the message names. The administrator of the cluster has to change the rule, or exempt Berth and the garbage collector from it. Berth retries the deletion at least every minute.',
  ),
  DeletionForbidden: act(
    'Grant the ServiceAccount that the message names the missing right. The roles in manifests/ contain all rights, ' +
      'and berth listener doctor lists the missing rights. Berth retries the deletion at least every minute.',
  ),
  DependentsLeft: act(
    'Delete the object that the message names, or find out why the garbage collector (kube-controller-manager) does not delete it: check kubectl get events, its finalizers, and those of objects that it owns (ReplicaSets, pods).',
  ),
  NamespaceTerminating: act(
    'The namespace is being deleted, so no object can be created in it. If the deletion does not finish, check which ' +
      'objects are left in the namespace (kubectl get namespace -o yaml, status.conditions) and remove the objects ' +
      'that block it. To keep the deployment, create the namespace again when it is deleted. Berth then applies ' +
      'the deployment within a minute. If the namespace is not needed, delete the deployment.',
  ),
  Deleted: HISTORY,
  RollbackRequested: HISTORY,
  RedeployRequested: HISTORY,
  RevisionRequested: HISTORY,
  Forgotten: HISTORY,
  Restored: HISTORY,
  SecretsUnreadable: act(
    'The administrator of this API has to add the encryption key to BERTH_ENCRYPTION_KEYS again. If the key is lost, ' +
      'PATCH the deployment with the complete list of secrets. If the build failed before this, use POST …/revisions.',
  ),
  TokenUnreadable: act(
    'PATCH the integration that the message names (/v2/integrations/{id}) with a token. Alternatively, the ' +
      'administrator of this API adds the encryption key to BERTH_ENCRYPTION_KEYS again.',
  ),
  RecordInvalid: act(
    'The stored deployment does not produce a valid custom resource. The administrator of this API has to check the ' +
      'stored deployment. A PATCH of the field that the message names may fix it.',
  ),
  ApplyRefused: act(
    'Correct the problem that the message names. Berth then retries the deployment. If the problem is in the cluster ' +
      '(rights, custom resource definition), ask its administrator.',
  ),
  NamespaceNotAllowed: act(
    'Add the namespace to compute_config.k8s_namespaces of the listener (PATCH /v2/listeners/{id}) or to BERTH_NAMESPACES of the listener, or create the deployment in a namespace of the list.',
  ),
  ObjectRecreated: HISTORY,
  ObjectCorrected: HISTORY,
};

/** The remedy of a reason. null for a reason outside the closed list (a custom resource written by hand). */
export function remedyOf(reason: string): Remedy | null {
  return Object.hasOwn(REASONS, reason) ? REMEDIES[reason as Reason] : null;
}
