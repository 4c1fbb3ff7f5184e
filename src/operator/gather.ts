import {
  managedDeploymentSpecSchema,
  managedDeploymentStatusSchema,
} from '../contract/managed-deployment.ts';
import { ANNOTATIONS } from '../contract/names.ts';
import type { UntypedObject } from '../kube/object.ts';
import type { PodTemplates } from '../workloads/desired-object.ts';
import { INPUTS_HASH_LABEL } from '../workloads/labels.ts';
import { type NamedSecret, WITNESS_LABEL } from '../workloads/secret-witness.ts';
import { parseStoredTemplates } from '../workloads/stored-templates.ts';
import type { ClusterView } from './cluster-view.ts';
import { CHILD_KINDS, type ChildKindName, OPTIONAL_KINDS } from './kinds.ts';
import type {
  ActiveRevision,
  ChildObject,
  Observed,
  ObservedPod,
  ObservedResource,
  ObservedTemplates,
} from './observed.ts';
import { idOf } from './observed.ts';
import { isOurs } from './ownership.ts';

export type Gathered =
  | { kind: 'found'; observed: Observed }
  /** There is no such resource (any more). */
  | { kind: 'absent' }
  /** Its spec is not one that this version understands; `problems` names the fields. */
  | { kind: 'unreadable'; resource: ObservedResource; problems: string };

const PLAIN_CHILDREN = (Object.keys(CHILD_KINDS) as ChildKindName[]).filter(
  (kind) => kind !== 'Pod' && kind !== 'ControllerRevision',
);

/** Everything known of one custom resource, from the caches alone: no call leaves the process. */
export function gather(view: ClusterView, key: string): Gathered {
  const object = view.resource(key);
  if (object === undefined) return { kind: 'absent' };
  const read = readResource(object);
  if (typeof read === 'string') return { kind: 'unreadable', resource: asResource(object), problems: read };
  const ours = (kind: ChildKindName) =>
    view.children(kind, key).filter((child) => isOurs(child, read)) as ChildObject[];
  const revisions = ours('ControllerRevision');
  return {
    kind: 'found',
    observed: {
      resource: read,
      children: new Map(PLAIN_CHILDREN.flatMap(ours).map((child) => [idOf(child), child])),
      storedTemplates: revisions.filter((object) => !isWitness(object)).flatMap(observedTemplates),
      witnesses: revisions.filter(isWitness).map((object) => ({ object, secrets: owningSecrets(object) })),
      pods: ours('Pod') as ObservedPod[],
      missingKinds: new Set(OPTIONAL_KINDS.filter((kind) => !view.watches(kind))),
    },
  };
}

/** Parsing is the dearest part of a look, and the same cached object is looked at many times. */
const parsed = new WeakMap<UntypedObject, ObservedResource | string>();

/** The resource with defaults filled in, or what is wrong with it. */
function readResource(object: UntypedObject): ObservedResource | string {
  const known = parsed.get(object);
  if (known !== undefined) return known;
  const spec = managedDeploymentSpecSchema.safeParse(object['spec']);
  const read = spec.success
    ? { ...asResource(object), spec: spec.data }
    : spec.error.issues.map(({ path, message }) => `spec.${path.join('.')}: ${message}`).join('; ');
  parsed.set(object, read);
  return read;
}

/** The fields outside `spec` are as the CRD has them. */
function asResource(object: UntypedObject): ObservedResource {
  return object as UntypedObject & ObservedResource;
}

function isWitness({ metadata }: ChildObject): boolean {
  return metadata.labels?.[WITNESS_LABEL] !== undefined && metadata.deletionTimestamp === undefined;
}

function owningSecrets({ metadata }: ChildObject): NamedSecret[] {
  return (metadata.ownerReferences ?? [])
    .filter(({ kind }) => kind === 'Secret')
    .map(({ name, uid }) => ({ name, uid }));
}

function observedTemplates(object: ChildObject): ObservedTemplates[] {
  const { name, labels, uid = '', resourceVersion = '', creationTimestamp = '' } = object.metadata;
  const inputsHash = labels?.[INPUTS_HASH_LABEL];
  const revisionNumber = object['revision'];
  if (inputsHash === undefined || typeof revisionNumber !== 'number') return [];
  if (labels?.[WITNESS_LABEL] !== undefined) return [];
  if (object.metadata.deletionTimestamp !== undefined) return [];
  const templates = () => readTemplates(object);
  const former = () => readFormer(object.metadata.annotations?.[ANNOTATIONS.formerRevision]);
  return [
    {
      name,
      uid,
      resourceVersion,
      revisionNumber,
      inputsHash,
      createdAt: creationTimestamp,
      former,
      templates,
    },
  ];
}

/** What somebody else has written there counts as nothing. */
function readFormer(text: string | undefined): ActiveRevision | null {
  if (text === undefined) return null;
  try {
    return managedDeploymentStatusSchema.shape.activeRevision.parse(JSON.parse(text)) ?? null;
  } catch {
    return null;
  }
}

/** @throws Error when somebody else wrote the object: nothing may run from it */
function readTemplates(object: ChildObject): PodTemplates {
  const data: unknown = typeof object['data'] === 'string' ? JSON.parse(object['data']) : object['data'];
  const stored = parseStoredTemplates({ ...object, data });
  if (stored === null) {
    const { namespace, name } = object.metadata;
    throw new Error(`failed to read the stored templates ${namespace}/${name}: not in Berth's form`);
  }
  return stored.templates;
}
