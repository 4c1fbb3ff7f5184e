import { z } from 'zod';

/** Condition types of a ManagedDeployment and of the API's `conditions[]`. */
export const CONDITION_TYPES = {
  DatabaseReady:
    'The database accepts connections, an external database is used, or the database is switched off.',
  CacheReady: 'The cache is available, an external cache is used, or the cache is switched off.',
  ImageReady: 'The image of the desired revision is known.',
  Progressing:
    'True while a rollout is in progress. Otherwise False, with the result of the last rollout, or with Reconciling while running workloads are repaired or scaled.',
  Serving: 'The active revision has an available api pod. Rollouts of other revisions do not matter.',
  RouteReady:
    'The route from custom_url to the app exists. Absent if there is no URL, or if Berth does not create routes.',
  DomainsReady:
    'Every additional host (domains) has an address in DNS, its proof, a route and a certificate, as far as Berth observes them. Ready does not depend on this condition. Absent if there are no additional hosts.',
  SchedulesHealthy:
    'Every schedule can run, and the last runs of none have all failed. Ready does not depend on this condition. Absent if there are no schedules.',
  Ready:
    'The desired revision and generation are completely in effect. Also True when nothing is to run: switched off, or without a revision.',
  Reconciling:
    'Shown only when True, and only on the custom resource: Ready is False, and Berth or Kubernetes is working on it. For kstatus, Flux and kubectl wait.',
  Stalled:
    'Shown only when True, and only on the custom resource: a failure is final until a person changes the spec or the cluster, even while an earlier revision serves. For kstatus, Flux and kubectl wait.',
  SecretsReadable: 'Shown only when False: the stored secrets cannot be decrypted.',
  Paused: 'The annotation berth.dev/paused is set, so the operator does not change the workloads.',
} as const;
export type ConditionType = keyof typeof CONDITION_TYPES;

/**
 * Conditions for tools that wait for a custom resource. At most one of them is True. They repeat a reason that another
 * condition has, so they are not reported to the hub.
 */
export const PROGRESS_TYPES: ReadonlySet<string> = new Set<ConditionType>(['Reconciling', 'Stalled']);

/**
 * Every reason of a condition, an event or a revision, with its meaning. The list is closed. To add a reason, add it
 * here first, then its remedy (remedies.ts).
 */
export const REASONS = {
  // data services
  DatabaseAvailable: 'The database pod is ready.',
  DatabaseStarting: 'The database pod is not ready yet.',
  DatabaseUnavailable: 'The database pod was ready, but is no longer ready.',
  ExternalDatabase: 'DATABASE_URI_CUSTOM is set, so Berth runs no database.',
  DatabaseDisabled: 'database.enabled is false, so Berth runs no database.',
  CacheAvailable: 'The cache pod is ready.',
  CacheStarting: 'The cache pod is not ready yet.',
  CacheUnavailable: 'The cache pod was ready, but is no longer ready.',
  ExternalCache: 'CACHE_URI_CUSTOM is set, so Berth runs no cache.',
  CacheDisabled: 'cache.enabled is false, so Berth runs no cache.',
  VolumeNotExpandable: 'The storage class does not allow the volume to be expanded.',
  VolumeResizing: 'The volume is being expanded.',
  VolumeBeingDeleted:
    'The volume claim of the database was deleted. Only the running pod of the database still keeps the data.',
  VolumeLost: "The database's volume claim has lost its PersistentVolume.",
  CredentialsLost: 'The Secrets with the password of the database no longer exist.',
  EnvironmentMissing:
    'A Secret of the listener no longer exists: the environment of a revision, or the credentials for its image.',
  // image
  ImageGiven: 'The image is used as specified.',
  ImageResolved: 'The image was resolved to a digest.',
  ImageResolving: 'Berth is querying the registry for the digest of the image.',
  ImageUnresolved: 'The digest of the image could not be resolved. The image is used as specified.',
  ImageNotFound: 'The registry reports that the image does not exist.',
  AwaitingBuild: 'The image is not built yet.',
  NoImage: 'No image is specified yet.',
  // builds
  Building: 'The image is being built.',
  ImageBuilt: 'The image was built and pushed.',
  BuildFailed: 'The image could not be built from its Dockerfile.',
  BuildConfigInvalid:
    'The repository or the uploaded folder lacks what describes the application, or its configuration file is not valid.',
  RefNotFound: 'The repository has no such branch, tag or commit.',
  UploadMissing: 'The uploaded folder is no longer stored.',
  GitHostRefused: 'The git host denies read access to the repository.',
  GitHostUnavailable: 'The git host does not respond.',
  RegistryRefused: 'The registry of the platform rejects the image.',
  RegistryUnavailable: 'The registry of the platform, or the registry of a base image, does not respond.',
  BuildTooLarge: 'The build needs more memory or disk space than its limit.',
  BuildTimeout: 'The build exceeded its time limit.',
  BuildLost: 'The pod of the build was lost several times.',
  BuildsUnavailable: 'The platform cannot build images, because a setting is missing.',
  // rollout
  AwaitingDataServices: 'The rollout starts when database and cache are ready.',
  ReleaseInProgress:
    'The release command of the desired revision runs, or waits to run. Components change when it has succeeded.',
  TasksUnavailable:
    'The cluster has no definition of tasks, so neither release commands nor schedules can run.',
  ReleaseFailed:
    'The release command of the desired revision failed, timed out or could not start, so nothing was rolled out.',
  ReleaseLost:
    'The task or Job of the release command was deleted by another account, so its result is not known and nothing was rolled out.',
  RolloutInProgress: 'Components are being updated.',
  RolloutComplete: 'Every component runs the desired revision.',
  RolloutFailed: 'The rollout of the desired revision failed.',
  RolloutDeadlineExceeded: 'The rollout did not finish within its deadline.',
  RolledBack: 'The stored templates of the active revision were applied again.',
  Interrupted: 'A newer revision replaced this revision during its rollout.',
  Superseded: 'A newer revision replaced this revision before it started.',
  SwitchedOff: 'max_scale is 0, so no pods run.',
  NoRevision: 'No revision can run yet.',
  Available: 'At least one api pod of the active revision is available.',
  Unavailable: 'No api pod of the active revision is available.',
  Converged: 'The cluster matches the desired state.',
  Reconciling: 'The cluster is being changed to the desired state.',
  ReconcileFailed: 'A call to the cluster failed. Berth retries the call.',
  Conflict: 'An object of the same name exists that Berth did not create.',
  TakingOver:
    'Another resource used the id of this deployment. The workloads of the other resource are being stopped.',
  Refused: 'The cluster rejected an object.',
  FieldsChangedByCluster:
    'An admission policy or webhook of the cluster changes fields that Berth writes. With Ready True, the changes are safe.',
  Paused: 'The annotation berth.dev/paused is set.',
  Resumed: 'The annotation berth.dev/paused was removed, so the pause has ended.',
  // routes
  RouteExists: 'The route to the app exists.',
  RoutePending: 'The route to the app is being created, or its gateway has not accepted it yet.',
  RouteRefused: 'The app has no route: the gateway does not accept it, or another deployment uses the host.',
  RouteUnsupported: 'The cluster does not have the kind of object that BERTH_ROUTING requires.',
  // additional hosts
  DomainsRouted: 'Every additional host is routed, and lacks nothing that Berth observes.',
  DomainUnproven:
    'The TXT record of an additional host was not found. The host is not routed, unless it was routed before the policy asked for proof.',
  DomainRefused:
    'An additional host has no route: the policy or the gateway does not allow it, or another deployment uses it.',
  DomainRoutePending:
    'The route of an additional host is being created, or its gateway has not accepted it yet.',
  DomainWithoutDns: 'An additional host has no address in DNS.',
  DomainWithoutCertificate: 'An additional host has no certificate yet.',
  DomainUnknown:
    'The state of an additional host is not known, because the DNS server does not answer or Berth creates no routes.',
  // schedules
  SchedulesRunning: 'Every schedule runs at its times, and its last runs have not all failed.',
  ScheduleRefused: 'A schedule does not run: its fields, the policy or the cluster do not allow it.',
  ScheduleFailing: 'The last runs of a schedule have all failed.',
  // Failures of pods.
  InvalidImageName: 'The image name cannot be parsed.',
  ImagePullFailed: 'The image cannot be pulled.',
  ContainerConfigInvalid: 'A container refers to an object that does not exist.',
  SecretReferenceMissing: 'A Secret or key that secret_references names does not exist.',
  CrashLoop: 'A container fails repeatedly.',
  Unschedulable: 'No node has enough resources for a pod.',
  QuotaExceeded: 'The quota of the namespace is exhausted.',
  AdmissionRefused: 'An admission rule rejected a pod.',
  MountFailed: 'A volume cannot be mounted.',
  ReadinessFailed: 'A pod runs but does not become ready.',
  NodeLost: 'The node of a pod does not respond.',
  Recovered: 'A reported failure of running pods is over.',
  // hub
  ListenerNeverSeen: 'The listener of this deployment has never connected.',
  ListenerLost: 'The lease of the listener expired, so the cluster is not observed.',
  ListenerReturned: 'The listener holds a lease again.',
  ClusterUnreachable: 'The listener is connected, but its cluster does not respond.',
  ListenerCreated: 'A listener was registered.',
  ListenerChanged: 'A listener was changed.',
  ListenerDeleted: 'A listener was deleted.',
  UnknownResource:
    'The cluster has a ManagedDeployment whose id the hub does not know. Berth does not change the resource.',
  IntegrationCreated: 'An integration was created.',
  IntegrationChanged: 'An integration was changed.',
  IntegrationDeleted: 'An integration was deleted.',
  TracingProjectCreated: 'The tracing backend has the tracing project.',
  TracingProjectFailed:
    'The tracing backend did not accept a message about a tracing project. Berth sends the message again.',
  TracingProjectDeleted: 'A tracing project was deleted.',
  TagCreated: 'A tag key or value was created.',
  TagChanged: 'A tag key or value was renamed.',
  TagDeleted: 'A tag key or value was deleted.',
  TenantCreated: 'The tenant was created.',
  TenantChanged: 'The tenant was renamed, or its quotas were changed.',
  TenantDeleted: 'The tenant was deleted.',
  ApiKeyCreated: 'An API key was created.',
  ApiKeyRevoked: 'An API key was revoked.',
  SignedIn: 'A person signed in, or an API key was exchanged for a session of a browser.',
  SignedOut: 'A session of a browser was ended by a sign-out.',
  AccessTokenCreated: 'An access token of a person or a workload was created.',
  AccessTokenRevoked: 'An access token of a person or a workload was revoked.',
  Created: 'The deployment was created.',
  Patched: 'The deployment was changed.',
  VolumeRemoved: 'The volume claim whose removal the owner of the database confirmed no longer exists.',
  TaskRequested: 'A task was requested.',
  TaskCancelRequested: 'The cancellation of a task was requested.',
  TaskEnded: 'A task has ended.',
  RevisionRequested: 'A new revision with the same content was requested.',
  RedeployRequested: 'A redeploy of a revision was requested.',
  RollbackRequested: 'A rollback to an earlier revision was requested.',
  PushTokenIssued: 'Credentials to push images were issued.',
  FolderUploaded: 'A folder was uploaded. It will be built, or its image exists already.',
  CommitPushed: 'A new commit of the tracked branch will be built.',
  PushNotBuilt: 'A push to the tracked branch did not create a revision.',
  BranchUnreadable: 'The tracked branch cannot be read. Berth reads the branch again later.',
  BranchReadable: 'The tracked branch can be read again.',
  DeletionRequested: 'Deletion was requested.',
  BeingDeleted: 'The custom resource and all objects that it owns are being deleted.',
  FinalizerBlocks: 'A finalizer blocks the deletion of an object.',
  VolumeInUse: 'A pod uses a volume claim that is being deleted.',
  PodNotEnding: 'A pod that is being deleted does not end.',
  DeletionRefused: 'The cluster rejects the deletion of an object.',
  DeletionForbidden: 'Berth has no right to delete or list an object.',
  DependentsLeft: 'The deletion waits for an object that still exists.',
  NamespaceTerminating: 'The namespace is being deleted.',
  Restored: 'The deletion was cancelled within its grace period.',
  Forgotten: 'The record was removed without a check of the cluster.',
  Deleted: 'No object of the deployment remains in the cluster.',
  SecretsUnreadable:
    'The secrets of the deployment cannot be decrypted: their key is not configured, or the stored values were changed.',
  TokenUnreadable: 'The token of the integration cannot be decrypted, so the deployment cannot be built.',
  RecordInvalid: 'The stored deployment cannot be rendered for the cluster.',
  ApplyRefused: 'The listener could not apply the deployment.',
  NamespaceNotAllowed: 'The namespace is not in the list of the listener.',
  ObjectRecreated: 'A missing object was created again.',
  ObjectCorrected: 'A changed field was reverted.',
} as const;
export type Reason = keyof typeof REASONS;
export const REASON_NAMES = Object.keys(REASONS) as [Reason, ...Reason[]];

/** A condition in the Kubernetes form. `observedGeneration` is the generation of the custom resource that it describes. */
export const conditionSchema = z.object({
  type: z.string().max(64).describe('Type of the condition.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Status of the condition.'),
  reason: z.string().max(64).describe('Reason, one of a fixed list.'),
  message: z.string().max(4096).describe('Message with the details.'),
  observedGeneration: z.int().min(0).optional().describe('The metadata.generation that was observed.'),
  lastTransitionTime: z.string().max(40).describe('When the status last changed.'),
});
export type Condition = z.infer<typeof conditionSchema>;

/**
 * Problems that a person can fix although nothing has failed yet, reported as an Event of type Warning and in the
 * history. Problems that last only seconds in an ordinary start are not included.
 */
export const TROUBLES: readonly Reason[] = [
  'QuotaExceeded',
  'Unschedulable',
  'ImagePullFailed',
  'MountFailed',
  'CredentialsLost',
  'VolumeNotExpandable',
  'VolumeBeingDeleted',
  'VolumeLost',
  'FinalizerBlocks',
  'VolumeInUse',
  'PodNotEnding',
  'NamespaceTerminating',
  'Refused',
  'FieldsChangedByCluster',
  'Conflict',
  'RouteRefused',
  'RouteUnsupported',
  'DomainUnproven',
  'DomainRefused',
  'DomainWithoutDns',
  'TasksUnavailable',
  'ScheduleRefused',
  'ScheduleFailing',
];

const TROUBLED: ReadonlySet<string> = new Set(TROUBLES);

/** Conditions whose reasons are reported. If two conditions have the same reason, the first condition counts. */
const REPORTED_TYPES: readonly string[] = [
  'Ready',
  'DatabaseReady',
  'CacheReady',
  'RouteReady',
  'DomainsReady',
  'SchedulesHealthy',
] satisfies ConditionType[];

/** A reason that is also reported for ready objects, because the user may not know the policy that changes them. */
const isTroubleOf = (reason: string) => reason === ('FieldsChangedByCluster' satisfies Reason);

/** Conditions that report a problem, at most one for each reason. */
export function conditionTroubles(conditions: readonly Condition[]): Condition[] {
  return REPORTED_TYPES.flatMap((wanted) => conditions.filter(({ type }) => type === wanted))
    .filter(({ status, reason }) => (status === 'False' || isTroubleOf(reason)) && TROUBLED.has(reason))
    .filter(({ reason }, index, all) => all.findIndex((other) => other.reason === reason) === index);
}

/** Reasons about the volume of a database that responds. */
const ANSWERING: ReadonlySet<string> = new Set<Reason>([
  'VolumeNotExpandable',
  'VolumeBeingDeleted',
  'VolumeLost',
]);

/** Whether the data service of a condition DatabaseReady or CacheReady responds. */
export function isAnswering({ status, reason }: Pick<Condition, 'status' | 'reason'>): boolean {
  return status === 'True' || ANSWERING.has(reason);
}

/** Whether database and cache respond. */
export function isDataReady(conditions: readonly Condition[]): boolean {
  return (['DatabaseReady', 'CacheReady'] as const).every((wanted) =>
    conditions.some((condition) => condition.type === wanted && isAnswering(condition)),
  );
}

/** Returns `reason` if it is in the closed list, otherwise `fallback`. */
export function reasonOr(reason: string, fallback: Reason): Reason {
  return Object.hasOwn(REASONS, reason) ? (reason as Reason) : fallback;
}
