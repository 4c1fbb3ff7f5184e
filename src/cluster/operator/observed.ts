import type { BuildStatus } from '../../contract/resource/build.ts';
import type { SettingsOfComponents } from '../../contract/resource/component-settings.ts';
import type {
  ManagedDeployment,
  ManagedDeploymentStatus,
} from '../../contract/resource/managed-deployment.ts';
import { compareText } from '../../domain/core/compare-text.ts';
import type { RunSettings } from '../../domain/run-settings/run-settings.ts';
import type { DataServiceName } from '../../workloads/data-services.ts';
import type { PodTemplates } from '../../workloads/desired-object.ts';
import type { NamedSecret } from '../../workloads/objects/secret-sentinel.ts';
import type { StoredImage } from '../../workloads/stored-templates.ts';
import type { KubeObject, UntypedObject } from '../kube/client/object.ts';
import type { ManagedFields } from '../kube/compare/managed-fields.ts';
import type { SecretReading } from './access/secret-readings.ts';
import type { KnownResponse } from './changes/cluster-changes.ts';
import type { ObservedHost } from './domains/observed-host.ts';
import type { ImageLookup } from './images/image-lookup.ts';
import type { StoredNames } from './observe/stored-names.ts';
import type { Finding } from './status/conditions.ts';
import type { TaskResource } from './tasks/observed-task.ts';

/**
 * What the operator has observed of one ManagedDeployment. Terms:
 * - child: any object that was created for the ManagedDeployment, whether or not the ManagedDeployment owns it;
 * - stored templates: a ControllerRevision of this deployment that holds rendered pod templates;
 * - target: the templates that the components must run now.
 */
export interface Observed {
  /** The custom resource, with the defaults of its spec filled in. */
  readonly resource: ObservedResource;
  /** Objects that belong to this deployment, by `childId`, without pods and stored templates. */
  readonly children: ReadonlyMap<string, ChildObject>;
  /** Berth's objects with the name of this resource that have no owner and the label of another deployment. */
  readonly foreignObjects?: readonly ChildObject[];
  readonly storedTemplates: readonly ObservedTemplates[];
  /**
   * ControllerRevisions of this deployment (stored templates and sentinels) that are being deleted. The operator no
   * longer uses these ControllerRevisions.
   */
  readonly leavingRevisions?: readonly ChildObject[];
  /** Sentinels, which show that a Secret was deleted although Secrets are not watched; see secrets-check.ts. */
  readonly sentinels: readonly SecretSentinel[];
  /** Pods of this deployment, including those that are terminating. */
  readonly pods: readonly ObservedPod[];
  /** Kinds that this cluster does not have. */
  readonly missingKinds?: ReadonlySet<string>;
  /** State of the requested build, or of the failed build of the newest revision; absent: there is no such build. */
  readonly build?: BuildStatus;
  /**
   * State of the digest lookup of the desired image; absent: no lookup is needed, or this operator looks up no digests.
   */
  readonly image?: ImageLookup;
  /** Parts of the spec that are not allowed; absent: the spec was not checked. See access/spec-policy.ts. */
  readonly forbidden?: readonly Forbidden[];
  /** What the referenced Secrets contain; absent: no values are needed. See access/secret-readings.ts. */
  readonly secrets?: ObservedSecrets;
  /** Why the deployment may not use the desired host; absent: it may. See access/host-claims.ts. */
  readonly hostRefused?: string;
  /** The condition of the schedules; absent: it is not known. See schedules/schedules-finding.ts. */
  readonly schedules?: Finding | null;
  /** The additional hosts; absent: it has no additional hosts; see domains/observe-domains.ts. */
  readonly domains?: readonly ObservedHost[];
  /** How the cluster changes the objects that the operator writes, by `childId`; see act/cluster-responses.ts. */
  readonly responses?: ReadonlyMap<string, KnownResponse>;
  /**
   * Tasks of the deployment, if it has a release command or the record of a release; null: they are not known yet, or the
   * cluster has no tasks.
   */
  readonly tasks?: readonly TaskResource[] | null;
  /** Whether the cluster lacks the definition of tasks. */
  readonly lacksTasks?: boolean;
  /** The pod of the recorded release; null or absent: it has none. */
  readonly releasePod?: ObservedPod | null;
  /** The last warning Events about objects, by uid; see observe/warning-events.ts. */
  readonly warnings?: ReadonlyMap<string, WarningEvent>;
}

/** The last read of the Secrets that `secret_references` names. */
export interface ObservedSecrets {
  readonly bySecret: ReadonlyMap<string, SecretReading>;
  /** Until when a rollout waits for a missing Secret or key, in ms since the epoch; null: it does not wait. */
  readonly waitsUntil: number | null;
}

/** A part of the custom resource that is not allowed. */
export interface Forbidden {
  readonly resourcePath: string;
  readonly message: string;
  /** Whether this part belongs to the pod template. Pod templates that were accepted once remain accepted. */
  readonly ofPodTemplate: boolean;
  /** Whether this part is about the variables of the revision. Variables that were accepted once remain accepted. */
  readonly ofVariables?: boolean;
  /**
   * Whether the policy of the operator rejects this part, so that another policy may allow it; absent: no policy allows
   * it.
   */
  readonly byPolicy?: boolean;
}

/** A ControllerRevision that is owned by Secrets. The garbage collector removes the owner reference of a deleted Secret. */
export interface SecretSentinel {
  readonly object: ChildObject;
  readonly secrets: readonly NamedSecret[];
}

/** Reason of the Event of a failed probe. */
export const UNHEALTHY = 'Unhealthy';

/** A failed probe of the app container of a pod. */
export interface FailedCheck {
  /** The kind of the probe and its answer: `Startup probe failed: …`. */
  readonly message: string;
  /** When it failed last, in ms since the epoch. */
  readonly at: number;
}

/** The last warning Event about an object. */
export interface WarningEvent {
  readonly reason: string;
  readonly message: string;
  /**
   * Failed probes, newest first. While a container waits for its restart, the newest warning is always that of the
   * back-off. Absent: no probe failed.
   */
  readonly checks?: readonly FailedCheck[];
  /** When the kubelet ended the app container because of a failed probe, in ms since the epoch. Absent: never. */
  readonly killedAt?: readonly number[];
}

/** A custom resource as read from the cluster. */
export type ObservedResource = ManagedDeployment & {
  /** Which names the resource has in the cluster; absent: the current names. */
  readonly storedNames?: StoredNames;
  readonly metadata: { readonly uid: string; readonly resourceVersion: string; readonly generation: number };
};

/** A child object as cached. */
export interface ChildObject extends UntypedObject {
  /** Field managers of `spec.replicas`, as `manager/operation`. managedFields itself is not cached. */
  replicasOwners?: readonly string[];
  /** Fields that other field managers own; absent while `metadata.managedFields` is present, or without such fields. */
  foreignFields?: ManagedFields;
}

export type ActiveRevision = NonNullable<ManagedDeploymentStatus['activeRevision']>;

/** Stored templates, parsed only when they are needed. */
export interface ObservedTemplates {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly revisionNumber: number;
  /** Value of the revision label: the hub's id, or the revision number of a resource applied by hand. */
  readonly revisionId: string;
  /** Hash of the inputs in normal form; an earlier version of Berth stored only the hash of the written inputs. */
  readonly inputsHash: string;
  readonly writtenInputsHash: string;
  /**
   * `requestedPodsHash` of the resource that the templates were rendered from; absent: an earlier version of Berth stored
   * them.
   */
  readonly askedPods?: string;
  readonly createdAt: string;
  /** The active revision when the templates were stored; null: no revision was active. */
  former(): ActiveRevision | null;
  templates(): PodTemplates;
  /** The image that the templates run; null: no image, or the object cannot be parsed. */
  image(): StoredImage | null;
  /** The run settings of the revision; empty if the object cannot be parsed, or an earlier version of Berth stored it. */
  settings(): RunSettings;
  /** The pod settings of the components that its commands create; empty in the same cases. */
  componentSettings(): SettingsOfComponents;
  /** The data services that its pods do not have at all; empty in the same cases. */
  lacking(): readonly DataServiceName[];
}

/** The content of a revision, from its stored templates. @throws Error if another writer created the object */
export const contentOf = (stored: ObservedTemplates) => ({
  templates: stored.templates(),
  image: stored.image()?.given,
  settings: stored.settings(),
  componentSettings: stored.componentSettings(),
  lacking: stored.lacking(),
});

interface Termination {
  exitCode: number;
  reason?: string;
  message?: string;
  startedAt?: string;
  finishedAt?: string;
}

interface ContainerStatus {
  name: string;
  ready?: boolean;
  restartCount?: number;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: { startedAt?: string };
    terminated?: Termination;
  };
  lastState?: { terminated?: Termination };
}

export interface PodCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** The final condition of a Job; null: it has not ended. */
export function endOfJob(job: { readonly status?: { conditions?: PodCondition[] } }): PodCondition | null {
  const isEnd = ({ type, status: holds }: PodCondition) =>
    holds === 'True' && (type === 'Complete' || type === 'Failed');
  return job.status?.conditions?.find(isEnd) ?? null;
}

/** The fields of a pod that the operator reads. All other fields are dropped before the pod is cached. */
export interface ObservedPod extends KubeObject {
  /** The lost node of the pod; absent: the pod reports no lost node. */
  lostNode?: string;
  /** For a terminating pod: the node that must confirm that the pod has ended. */
  node?: string;
  /** Whether output of the pod is not shown, because it may contain values of referenced Secrets; absent: it is shown. */
  withheld?: boolean;
  /** Whether a health check of a pod whose output is not shown is a command; absent: no check is. */
  commandChecks?: boolean;
  /** Whether no controller owns the pod, so that it is not replaced. */
  orphan?: boolean;
  status?: {
    phase?: string;
    /** Why the whole pod has ended, such as `Evicted`. */
    reason?: string;
    message?: string;
    conditions?: PodCondition[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}
export type ObservedContainer = ContainerStatus;

/** Identity of a child within one deployment. */
export function childId(kind: string, name: string): string {
  return `${kind}/${name}`;
}

/** `childId` of an object. */
export function idOf(object: KubeObject): string {
  return childId(object.kind, object.metadata.name);
}

/** The child of this kind and name; undefined if it does not exist or is being deleted. */
export function liveChild(observed: Observed, kind: string, name: string): ChildObject | undefined {
  const child = observed.children.get(childId(kind, name));
  return child === undefined || child.metadata.deletionTimestamp !== undefined ? undefined : child;
}

/** Stored templates, newest first. */
export function newestFirst<T extends Pick<ObservedTemplates, 'name' | 'revisionNumber' | 'createdAt'>>(
  all: readonly T[],
): T[] {
  return [...all].sort(
    (a, b) =>
      b.revisionNumber - a.revisionNumber ||
      compareText(b.createdAt, a.createdAt) ||
      // For templates that were created in the same second: `app-1-10` comes after `app-1-9`.
      b.name.length - a.name.length ||
      compareText(b.name, a.name),
  );
}

/** Whether both were stored for the same revision and inputs, so that they differ only in the values of Secrets. */
export function hasSameInputs(a: ObservedTemplates, b: ObservedTemplates): boolean {
  return (
    a.revisionId === b.revisionId && a.revisionNumber === b.revisionNumber && a.inputsHash === b.inputsHash
  );
}
