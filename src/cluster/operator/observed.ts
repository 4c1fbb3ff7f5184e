import type { BuildStatus } from '../../contract/resource/build.ts';
import type {
  ManagedDeployment,
  ManagedDeploymentStatus,
} from '../../contract/resource/managed-deployment.ts';
import type { PodTemplates } from '../../workloads/desired-object.ts';
import type { NamedSecret } from '../../workloads/objects/secret-sentinel.ts';
import type { StoredImage } from '../../workloads/stored-templates.ts';
import type { KubeObject, UntypedObject } from '../kube/client/object.ts';
import type { KnownAnswer } from './act/cluster-responses.ts';
import type { ImageLookup } from './images/image-lookup.ts';

/**
 * What the operator knows of one ManagedDeployment. Terms:
 * - child: any object made for it, owned by it or not;
 * - stored templates: a ControllerRevision of ours that holds rendered pod templates;
 * - target: the templates that the components are to run now.
 */
export interface Observed {
  /** Read from the cluster, its spec's defaults filled in. */
  readonly resource: ObservedResource;
  /** Objects with our mark, by `childId`; pods and stored templates are apart. */
  readonly children: ReadonlyMap<string, ChildObject>;
  /** Objects of Berth's with the name of this resource, the mark of another deployment and no owner. */
  readonly strangers?: readonly ChildObject[];
  readonly storedTemplates: readonly ObservedTemplates[];
  /** ControllerRevisions of ours that are being deleted: stored templates and witnesses no longer count. */
  readonly leavingRevisions?: readonly ChildObject[];
  /** What stands for the Secrets, which nobody watches; see secrets-check.ts. */
  readonly witnesses: readonly SecretWitness[];
  /** Pods of this deployment, those that are ending included. */
  readonly pods: readonly ObservedPod[];
  /** Kinds that this cluster does not have. */
  readonly missingKinds?: ReadonlySet<string>;
  /** The build that the resource asks for; absent: it asks for none. */
  readonly build?: BuildStatus;
  /** How far the look at the registry of the wanted image is; absent: it needs none, or this operator looks none up. */
  readonly image?: ImageLookup;
  /** What the wanted pods may not be, whoever asks for it; absent: nothing was looked for. See confinement.ts. */
  readonly forbidden?: readonly Forbidden[];
  /** Why no route may lead to the wanted host; absent: one may. See host-claims.ts. */
  readonly hostRefused?: string;
  /** How the cluster changes what is written, by `childId`; see cluster-answers.ts. */
  readonly answers?: ReadonlyMap<string, KnownAnswer>;
  /** What Events told of an object when they were last asked for, by its uid; see tellings.ts. */
  readonly tellings?: ReadonlyMap<string, Telling>;
}

/** A part of the custom resource that may not be. */
export interface Forbidden {
  readonly resourcePath: string;
  readonly message: string;
  /** Of the pod template, which stays let where it was let once. */
  readonly ofPodTemplate: boolean;
  /** The policy of the operator refuses it, and another policy may allow it; absent: no policy allows it. */
  readonly byPolicy?: boolean;
}

/** Stands for the Secrets that own it: one that is deleted is soon no longer among them. */
export interface SecretWitness {
  readonly object: ChildObject;
  readonly secrets: readonly NamedSecret[];
}

/** The last warning about an object. */
export interface Telling {
  readonly reason: string;
  readonly message: string;
}

/** A custom resource that is in the cluster. */
export type ObservedResource = ManagedDeployment & {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string; readonly generation: number };
};

/** A child as cached. */
export interface ChildObject extends UntypedObject {
  /** Who applies `spec.replicas`, as `manager/operation`; kept from managedFields, which are dropped. */
  replicasOwners?: readonly string[];
}

export type ActiveRevision = NonNullable<ManagedDeploymentStatus['activeRevision']>;

/** Stored templates, parsed only when they are needed. */
export interface ObservedTemplates {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly revisionNumber: number;
  /** As labelled: the hub's id, or the number on resources without a record. */
  readonly revisionId: string;
  readonly inputsHash: string;
  /** `askedPodsHash` of the resource that they were rendered from; absent: an earlier version made them. */
  readonly askedPods?: string;
  readonly createdAt: string;
  /** What was active when these were made; null: nothing. */
  former(): ActiveRevision | null;
  templates(): PodTemplates;
  /** Which image they run; null: none, or the object cannot be read. */
  image(): StoredImage | null;
}

interface Termination {
  exitCode: number;
  reason?: string;
  message?: string;
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

/** A pod as far as it is read; all else is dropped before it is cached. */
export interface ObservedPod extends KubeObject {
  /** The node that went away under it; absent: none did, as far as the pod tells. */
  lostNode?: string;
  /** Of one that is being deleted: the node that has to confirm its end. */
  node?: string;
  /** No controller owns it: nobody replaces it. */
  orphan?: boolean;
  status?: {
    phase?: string;
    /** Why the whole pod has ended: `Evicted`. */
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

/** The child of this kind and name, if it is there and not on its way out. */
export function liveChild(observed: Observed, kind: string, name: string): ChildObject | undefined {
  const child = observed.children.get(childId(kind, name));
  return child === undefined || child.metadata.deletionTimestamp !== undefined ? undefined : child;
}
