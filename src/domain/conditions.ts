import { z } from 'zod';

/** Condition types of a ManagedDeployment and of the API's `conditions[]`. */
export const CONDITION_TYPES = {
  DatabaseReady: 'The database accepts connections, or an external one is used.',
  CacheReady: 'The cache is available, or an external one is used.',
  ImageReady: "The wanted revision's image is known.",
  Progressing:
    'A rollout is under way (True) or not (False, with how the last one ended, or Reconciling while what runs is mended or scaled).',
  Serving: 'The active revision has an available api pod; independent of updates.',
  RouteReady:
    'The route from custom_url to the app is there. Absent where no URL is wanted, or Berth makes no routes.',
  Ready: 'The wanted revision and generation are fully there.',
  SecretsReadable: 'Only shown when False: the stored secrets cannot be decrypted.',
  Paused: 'The annotation berth.dev/paused stops the operator from touching the workloads.',
} as const;
export type ConditionType = keyof typeof CONDITION_TYPES;

/** Every reason a condition, an event or a revision may carry, with what it means. The list is closed: add here first, then its remedy (remedies.ts). */
export const REASONS = {
  // data services
  DatabaseAvailable: 'The database pod is ready.',
  DatabaseStarting: 'The database pod is not ready yet.',
  DatabaseUnavailable: 'The database pod was ready, and is not any more.',
  ExternalDatabase: 'DATABASE_URI_CUSTOM is set; no database is run.',
  CacheAvailable: 'The cache pod is ready.',
  CacheStarting: 'The cache pod is not ready yet.',
  CacheUnavailable: 'The cache pod was ready, and is not any more.',
  ExternalCache: 'CACHE_URI_CUSTOM is set; no cache is run.',
  VolumeNotExpandable: 'The storage class refuses to grow the volume.',
  VolumeResizing: 'The volume is being grown.',
  VolumeBeingDeleted: "Somebody deleted the database's volume claim; its pod is all that keeps the data.",
  VolumeLost: "The database's volume claim has lost its PersistentVolume.",
  CredentialsLost: "The Secrets with the database's password are gone.",
  EnvironmentMissing:
    'A Secret that the listener makes is gone: the environment of a revision, or the credentials for its image.',
  // image
  ImageGiven: 'The image is used as given.',
  ImageResolved: 'The image was resolved to a digest.',
  ImageResolving: 'The registry is asked for the digest of the image.',
  ImageUnresolved: 'The digest of the image could not be looked up; it is used as given.',
  ImageNotFound: 'The registry says that the image does not exist (any more).',
  AwaitingBuild: 'The image is not built yet.',
  NoImage: 'No image is named yet.',
  // builds
  Building: 'The image is being built.',
  ImageBuilt: 'The image was built and pushed.',
  BuildFailed: 'The image could not be built from its Dockerfile.',
  BuildConfigInvalid: 'The configuration file of the application is missing in the repository, or not right.',
  RefNotFound: 'The repository has no such branch, tag or commit.',
  GitHostRefused: 'The git host does not let the repository be read.',
  GitHostUnavailable: 'The git host does not answer.',
  RegistryRefused: 'The registry of the platform refuses the image.',
  RegistryUnavailable: 'The registry of the platform, or that of a base image, does not answer.',
  BuildTooLarge: 'The build needs more memory or room on disk than it may have.',
  BuildTimeout: 'The build took longer than it may.',
  BuildLost: 'The pod of the build was lost, again and again.',
  BuildsUnavailable: 'The platform builds nothing: a setting of its is missing.',
  // rollout
  AwaitingDataServices: 'The rollout starts when database and cache are ready.',
  RolloutInProgress: 'Components are being updated.',
  RolloutComplete: 'Every component runs the wanted revision.',
  RolloutFailed: 'The wanted revision did not come up.',
  RolloutDeadlineExceeded: 'The rollout did not finish within its deadline.',
  RolledBack: "The active revision's stored templates were applied again.",
  Interrupted: 'A newer revision took over while this one was rolling.',
  Superseded: 'A newer revision came before this one started.',
  SwitchedOff: 'max_scale is 0: nothing is run.',
  NoRevision: 'There is no revision to run yet.',
  Available: 'At least one api pod of the active revision is available.',
  Unavailable: 'No api pod of the active revision is available.',
  Converged: 'Everything wanted is there.',
  Reconciling: 'The cluster is being brought to the wanted state.',
  ReconcileFailed: 'A call to the cluster failed; it is tried again.',
  Conflict: 'An object of the same name exists that Berth did not make.',
  TakingOver: 'Another resource used the id of this deployment; what it runs is being stopped.',
  Refused: 'The cluster refused an object.',
  FieldsChangedByCluster:
    'An admission policy or webhook of the cluster changes fields that Berth writes. With Ready True, the changes are safe.',
  Paused: 'Paused by annotation.',
  Resumed: 'The pausing annotation is gone: what is wanted is brought about again.',
  // way in
  RouteExists: 'The route to the app is there.',
  RoutePending: 'The route to the app is being made, or its gateway has not accepted it yet.',
  RouteRefused: 'No route may lead to the app: the gateway does not accept it, or the host is taken.',
  RouteUnsupported: 'The cluster lacks the kind of object that routes are to be made of.',
  // failures of pods
  InvalidImageName: 'The image name cannot be parsed.',
  ImagePullFailed: 'The image cannot be pulled.',
  ContainerConfigInvalid: 'A container refers to something that does not exist.',
  CrashLoop: 'A container keeps failing.',
  Unschedulable: 'No node has room for a pod.',
  QuotaExceeded: "The namespace's quota is used up.",
  AdmissionRefused: 'An admission rule refused a pod.',
  MountFailed: 'A volume cannot be mounted.',
  ReadinessFailed: 'A pod runs but does not become ready.',
  NodeLost: 'The node of a pod does not answer.',
  Recovered: 'A failure that was reported of running pods is over.',
  // hub
  ListenerNeverSeen: 'The listener of this deployment has never connected.',
  ListenerLost: "The listener's lease ran out: the cluster cannot be observed.",
  ListenerReturned: 'The listener holds a lease again.',
  ClusterUnreachable: 'The listener is connected, but its cluster does not answer.',
  ListenerCreated: 'A listener was registered.',
  ListenerChanged: 'A listener was changed.',
  ListenerDeleted: 'A listener was deleted.',
  UnknownResource: 'The cluster holds a ManagedDeployment whose id the hub does not know; it is left alone.',
  IntegrationCreated: 'An integration was created.',
  IntegrationChanged: 'An integration was changed.',
  IntegrationDeleted: 'An integration was deleted.',
  TracingProjectCreated: 'The tracing backend has the tracing project.',
  TracingProjectFailed:
    'The tracing backend did not take a message about a tracing project; it is sent again.',
  TracingProjectDeleted: 'A tracing project was deleted.',
  TagCreated: 'A tag key or value was created.',
  TagChanged: 'A tag key or value was renamed.',
  TagDeleted: 'A tag key or value was deleted.',
  TenantCreated: 'The tenant was created.',
  TenantChanged: 'The tenant was renamed, or its quotas were changed.',
  TenantDeleted: 'The tenant was deleted.',
  ApiKeyCreated: 'An API key was created.',
  ApiKeyRevoked: 'An API key was revoked.',
  Created: 'The deployment was created.',
  Patched: 'The deployment was changed.',
  RevisionRequested: 'A new revision of the same content was asked for.',
  RedeployRequested: 'The content of a revision was to be deployed again.',
  RollbackRequested: 'The content of an earlier revision was asked for again.',
  PushTokenIssued: 'Credentials to push images were given out.',
  CommitPushed: 'A new commit of the tracked branch is to be built.',
  PushNotBuilt: 'A push to the tracked branch could not be made into a revision.',
  BranchUnreadable: 'The tracked branch cannot be looked at; it is tried again.',
  BranchReadable: 'The tracked branch can be looked at again.',
  DeletionRequested: 'Deletion was asked for.',
  BeingDeleted: 'The custom resource is being deleted, with all that it owns.',
  FinalizerBlocks: 'A finalizer keeps an object from being deleted.',
  VolumeInUse: 'A pod uses a volume claim that is being deleted.',
  PodNotEnding: 'A pod that is being deleted does not end.',
  DeletionRefused: 'The cluster refuses to delete an object.',
  DeletionForbidden: 'Berth has no right to delete or list an object.',
  DependentsLeft: 'The deletion waits for an object that is still there.',
  NamespaceTerminating: 'The namespace is being deleted.',
  Restored: 'Deletion was taken back within its grace.',
  Forgotten: 'The record was removed without a look at the cluster.',
  Deleted: 'No object of the deployment remains in the cluster.',
  SecretsUnreadable: 'Its secrets cannot be decrypted: their key is not configured, or they were changed.',
  TokenUnreadable: 'The token of its integration cannot be decrypted, so that nothing of it can be built.',
  RecordInvalid: 'What is stored of it cannot be rendered for the cluster.',
  ApplyRefused: 'The listener could not apply the deployment.',
  NamespaceNotAllowed: "The namespace is not in the listener's list.",
  ObjectRecreated: 'A missing object was created again.',
  ObjectCorrected: 'A changed field was put back.',
} as const;
export type Reason = keyof typeof REASONS;
export const REASON_NAMES = Object.keys(REASONS) as [Reason, ...Reason[]];

/** One condition, in the Kubernetes form; `observedGeneration` is the generation of the custom resource it speaks of. */
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
 * Trouble that somebody can see to, although nothing has failed for it yet: told as an Event of the type Warning and as a
 * row of the history. What may last only seconds in an ordinary start is not among them.
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
];

const TROUBLED: ReadonlySet<string> = new Set(TROUBLES);

/** Conditions whose reasons are told; of two that say the same, the first. */
const TELLING: readonly string[] = [
  'Ready',
  'DatabaseReady',
  'CacheReady',
  'RouteReady',
] satisfies ConditionType[];

/** Told of what is ready, too: somebody may not know of the policy that does it. */
const isTroubleOf = (reason: string) => reason === ('FieldsChangedByCluster' satisfies Reason);

/** Those that tell of trouble, each reason once. */
export function troublesOf(conditions: readonly Condition[]): Condition[] {
  return TELLING.flatMap((wanted) => conditions.filter(({ type }) => type === wanted))
    .filter(({ status, reason }) => (status === 'False' || isTroubleOf(reason)) && TROUBLED.has(reason))
    .filter(({ reason }, index, all) => all.findIndex((other) => other.reason === reason) === index);
}

/** Said of the volume of a database that answers. */
const ANSWERING: ReadonlySet<string> = new Set<Reason>([
  'VolumeNotExpandable',
  'VolumeBeingDeleted',
  'VolumeLost',
]);

/** Of DatabaseReady or CacheReady: what it speaks of answers. */
export function isAnswering({ status, reason }: Pick<Condition, 'status' | 'reason'>): boolean {
  return status === 'True' || ANSWERING.has(reason);
}

/** Database and cache answer. */
export function isDataReady(conditions: readonly Condition[]): boolean {
  return (['DatabaseReady', 'CacheReady'] as const).every((wanted) =>
    conditions.some((condition) => condition.type === wanted && isAnswering(condition)),
  );
}
