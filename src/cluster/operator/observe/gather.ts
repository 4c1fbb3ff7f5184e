import type { z } from 'zod';
import {
  managedDeploymentSpecSchema,
  managedDeploymentStatusSchema,
} from '../../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { isDeeper, MAX_LEVELS } from '../../../domain/core/depth.ts';
import { INPUTS_HASH_LABEL, TASK_COMPONENT } from '../../../workloads/labels.ts';
import { isSecretSentinel, type NamedSecret } from '../../../workloads/objects/secret-sentinel.ts';
import {
  parseStoredTemplates,
  recordedInputsHash,
  type StoredTemplates,
} from '../../../workloads/stored-templates.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import { asFirstGiven } from '../images/revision-image.ts';
import { CHILD_KIND_NAMES, type ChildKindName, OPTIONAL_KINDS } from '../kinds.ts';
import type {
  ActiveRevision,
  ChildObject,
  Observed,
  ObservedPod,
  ObservedResource,
  ObservedTemplates,
} from '../observed.ts';
import { idOf } from '../observed.ts';
import { conditionOf, shortened } from '../status/conditions.ts';
import { boundedCache } from './bounded-cache.ts';
import type { ClusterView } from './cluster-view.ts';
import { isOurs } from './ownership.ts';

export type Gathered =
  | { kind: 'found'; observed: Observed }
  /** The resource does not exist, or no longer exists. */
  | { kind: 'absent' }
  /** This version cannot parse the spec; `problems` names the fields. Owned objects are also observed in this case. */
  | { kind: 'unreadable'; observed: Observed; problems: string };

const PLAIN_CHILDREN = CHILD_KIND_NAMES.filter((kind) => kind !== 'Pod' && kind !== 'ControllerRevision');

/** Collects the observed state of one custom resource from the caches, without a request. */
export function gather(view: Pick<ClusterView, 'resource' | 'children' | 'watches'>, key: string): Gathered {
  const object = view.resource(key);
  if (object === undefined) return { kind: 'absent' };
  const read = readResource(object);
  if (typeof read !== 'string') return { kind: 'found', observed: observe(view, key, read) };
  return {
    kind: 'unreadable',
    observed: observe(view, key, withPlaceholderSpec(asResource(object))),
    problems: read,
  };
}

function observe(
  view: Pick<ClusterView, 'children' | 'watches'>,
  key: string,
  read: ObservedResource,
): Observed {
  const foreignObjects: ChildObject[] = [];
  const ours = (kind: ChildKindName) =>
    (view.children(kind, key) as ChildObject[]).filter((child) => {
      const isOwn = isOurs(child, read);
      if (!isOwn && isWithoutOwner(child)) foreignObjects.push(child);
      return isOwn;
    });
  const revisions = ours('ControllerRevision');
  const storedTemplates = revisions.filter((object) => !isSentinel(object)).flatMap(observedTemplates);
  const children = new Map(PLAIN_CHILDREN.flatMap(ours).map((child) => [idOf(child), child]));
  return {
    resource: asFirstGiven(read, storedTemplates),
    children,
    foreignObjects,
    storedTemplates,
    leavingRevisions: revisions.filter(({ metadata }) => metadata.deletionTimestamp !== undefined),
    sentinels: revisions.filter(isSentinel).map((object) => ({ object, secrets: owningSecrets(object) })),
    pods: view
      .children('Pod', key)
      .filter((child) => isOurs(child, read) && !isOfTask(child)) as ObservedPod[],
    missingKinds: new Set(OPTIONAL_KINDS.filter((kind) => !view.watches(kind))),
  };
}

/** Whether a pod belongs to a task. Tasks are reconciled apart from their deployment (tasks/). */
const isOfTask = ({ metadata: { labels } }: KubeObject): boolean =>
  labels?.[LABELS.component] === TASK_COMPONENT;

/**
 * Whether a managed object has no owner, because a deployment left it behind. If such an object had an owner, the
 * garbage collector would have deleted both.
 */
function isWithoutOwner({
  metadata: { labels, ownerReferences = [], deletionTimestamp },
}: ChildObject): boolean {
  return (
    labels?.[LABELS.managedBy] === MANAGED_BY &&
    ownerReferences.length === 0 &&
    deletionTimestamp === undefined
  );
}

/**
 * Number of parsed objects to keep. Cached objects are immutable, and a resource in progress is reconciled several
 * times in a row. The number is limited, because all parsed objects would duplicate the cache.
 */
const MAX_PARSED = 200;
/** Parsing is the most expensive part of a reconcile. */
const parsed = boundedCache<UntypedObject, ObservedResource | string>(MAX_PARSED);

/**
 * Parses a resource and fills in defaults; a string states what is invalid. Unknown fields of a later version are
 * ignored, because a missing field keeps its earlier meaning (decision 0032). Unknown fields of the pod template are
 * errors: they define the pod.
 */
export function readResource(object: UntypedObject): ObservedResource | string {
  const known = parsed.get(object);
  if (known !== undefined) return known;
  const read = readSpec(object);
  parsed.set(object, read);
  return read;
}

function readSpec(object: UntypedObject): ObservedResource | string {
  if (isDeeper(object['spec'], MAX_LEVELS)) return `spec: is nested more than ${MAX_LEVELS} levels deep`;
  const strictly = managedDeploymentSpecSchema.safeParse(object['spec']);
  const spec = strictly.success
    ? strictly
    : managedDeploymentSpecSchema.safeParse(withoutUnknown(object['spec'], strictly.error.issues));
  if (spec.success) return { ...asResource(object), spec: spec.data };
  return shortened(
    spec.error.issues.map(({ path, message }) => `${['spec', ...path].join('.')}: ${message}`).join('; '),
  );
}

/** A copy without unknown fields. */
function withoutUnknown(spec: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy: unknown = structuredClone(spec);
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys' || issue.path[0] === 'podTemplate') continue;
    let holder = copy;
    for (const step of issue.path) holder = (holder as Record<PropertyKey, unknown>)[step];
    for (const key of issue.keys) delete (holder as Record<string, unknown>)[key];
  }
  return copy;
}

/** The CRD schema already validates the fields outside `spec`. */
function asResource(object: UntypedObject): ObservedResource {
  return object as UntypedObject & ObservedResource;
}

function isSentinel(object: ChildObject): boolean {
  return isSecretSentinel(object) && object.metadata.deletionTimestamp === undefined;
}

function owningSecrets({ metadata }: ChildObject): NamedSecret[] {
  return (metadata.ownerReferences ?? [])
    .filter(({ kind }) => kind === 'Secret')
    .map(({ name, uid }) => ({ name, uid }));
}

function observedTemplates(object: ChildObject): ObservedTemplates[] {
  const {
    name,
    labels,
    annotations,
    uid = '',
    resourceVersion = '',
    creationTimestamp = '',
  } = object.metadata;
  const askedPods = annotations?.[ANNOTATIONS.askedPods];
  const inputsHash = recordedInputsHash(object.metadata);
  const revisionNumber = object['revision'];
  const writtenInputsHash = labels?.[INPUTS_HASH_LABEL];
  if (inputsHash === undefined || writtenInputsHash === undefined) return [];
  if (typeof revisionNumber !== 'number') return [];
  if (isSecretSentinel(object)) return [];
  if (object.metadata.deletionTimestamp !== undefined) return [];
  const templates = () => readTemplates(object).templates;
  // If another writer created the object, `templates` throws and `image` returns null.
  const image = () => readStored(object)?.image ?? null;
  const settings = () => readStored(object)?.settings ?? {};
  const componentSettings = () => readStored(object)?.componentSettings ?? {};
  const lacking = () => readStored(object)?.lacking ?? [];
  const former = () => readFormer(annotations?.[ANNOTATIONS.formerRevision]);
  return [
    {
      name,
      uid,
      resourceVersion,
      revisionNumber,
      revisionId: labels?.[LABELS.revisionId] ?? '',
      inputsHash,
      writtenInputsHash,
      ...(askedPods === undefined ? {} : { askedPods }),
      createdAt: creationTimestamp,
      former,
      templates,
      image,
      settings,
      componentSettings,
      lacking,
    },
  ];
}

/** null: the annotation is missing or invalid. */
function readFormer(text: string | undefined): ActiveRevision | null {
  if (text === undefined) return null;
  try {
    return managedDeploymentStatusSchema.shape.activeRevision.parse(JSON.parse(text)) ?? null;
  } catch {
    return null;
  }
}

/** null: the text is not in Berth's format. */
const stored = boundedCache<ChildObject, StoredTemplates | null>(MAX_PARSED);

/** null: the text is not in Berth's format, so another writer created the object. */
function readStored(object: ChildObject): StoredTemplates | null {
  const known = stored.get(object);
  if (known !== undefined) return known;
  const read = parseTemplates(object);
  stored.set(object, read);
  return read;
}

function parseTemplates(object: ChildObject): StoredTemplates | null {
  try {
    const data: unknown = typeof object['data'] === 'string' ? JSON.parse(object['data']) : object['data'];
    return parseStoredTemplates({ ...object, data });
  } catch {
    return null;
  }
}

/** @throws Error if another writer created the object, because no pod may run from it */
function readTemplates(object: ChildObject): StoredTemplates {
  const read = readStored(object);
  if (read !== null) return read;
  const { namespace, name } = object.metadata;
  throw new Error(`failed to read the stored templates ${namespace}/${name}: they are not in Berth's format`);
}

/**
 * Replaces a spec that cannot be parsed by a placeholder: enough to find owned objects and to read the status. The
 * placeholder must not be used to create or change an object.
 */
function withPlaceholderSpec(resource: ObservedResource): ObservedResource {
  const { deploymentId } = ((resource.spec as unknown) ?? {}) as { deploymentId?: unknown };
  const reasons = [
    conditionOf(resource, 'DatabaseReady')?.reason,
    conditionOf(resource, 'CacheReady')?.reason,
  ];
  const is = (reason: Reason) => reasons.includes(reason);
  const database = { external: is('ExternalDatabase'), enabled: !is('DatabaseDisabled') };
  const cache = { external: is('ExternalCache'), enabled: !is('CacheDisabled') };
  const suspend = resource.status?.suspended ?? false;
  const minimal = { revision: {}, suspend, database, cache };
  const named = managedDeploymentSpecSchema.safeParse({ ...minimal, deploymentId });
  return { ...resource, spec: named.success ? named.data : managedDeploymentSpecSchema.parse(minimal) };
}
