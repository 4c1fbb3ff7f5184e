import { MANAGED_DEPLOYMENT } from '../contract/managed-deployment.ts';
import { ANNOTATIONS, FIELD_MANAGERS } from '../contract/names.ts';
import { desiredHash } from '../kube/compare.ts';
import { KubeError } from '../kube/errors.ts';
import { controllerOf, type KubeObject, keyOf, type UntypedObject } from '../kube/object.ts';
import { resourceOf } from '../kube/resources.ts';
import type { ActInput, Result } from './act.ts';
import type { Action } from './action.ts';
import { appKeys } from './cache-keys.ts';
import { execute } from './execute.ts';
import { type ChildKindName, childKindOf } from './kinds.ts';
import { isOurs } from './ownership.ts';

type Creation = Extract<Action, { kind: 'create' }>;

/** What was to be made is there already: ours (the cache lags, or lost sight of it), or somebody else's. */
export async function explainExisting(action: Creation, input: ActInput): Promise<Result> {
  const { view, resource, signal } = input;
  const { namespace } = resource.metadata;
  const { object } = action;
  const { kind } = object;
  const { name } = object.metadata;
  const found = childKindOf(kind) && (await view.refresh(kind as ChildKindName, { namespace, name }, signal));
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return { kind: 'stale' };
  const isInSight = appKeys(found).includes(keyOf(resource));
  if (isOurs(found, resource) && isInSight) return { kind: 'stale' };
  if (isOurs(found, resource) || isStripped(found, action.object))
    return await takeBack(action, found, input);
  const owner = controllerOf(found);
  // Left from an earlier custom resource of this name; the garbage collector is about to remove it.
  if (owner?.kind === MANAGED_DEPLOYMENT.kind && owner.name === resource.metadata.name)
    return { kind: 'stale' };
  const labels = Object.entries(object.metadata.labels).map(([key, value]) => `${key}=${value}`);
  const message =
    `${kind} ${name} exists and was not made by Berth for this deployment: rename or remove it. ` +
    `If it is Berth's and somebody took its labels off: kubectl label ${kind.toLowerCase()} ${name} ${labels.join(' ')}`;
  return { kind: 'refused', failure: { actionId: action.id, reason: 'Conflict', final: false, message } };
}

/**
 * Ours, although its labels and its owner reference were taken off: it still notes the hash of exactly what is to be made,
 * in which both are counted, down to the uid of the custom resource.
 */
function isStripped(found: UntypedObject, wanted: KubeObject): boolean {
  const note = found.metadata.annotations?.[ANNOTATIONS.appliedHash];
  return note !== undefined && note === desiredHash(wanted, ANNOTATIONS.appliedHash);
}

async function takeBack(action: Creation, found: UntypedObject, input: ActInput): Promise<Result> {
  try {
    return { kind: 'done', written: await (action.once ? labelled : appliedAnew)(action, found, input) };
  } catch (error) {
    if (error instanceof KubeError) return { kind: 'error', error };
    throw error;
  }
}

/** What is made once, and changed by nobody, keeps all but its labels. */
async function labelled({ object }: Creation, { metadata }: UntypedObject, input: ActInput) {
  const { client, view, signal } = input;
  const { uid, resourceVersion } = metadata;
  const patch = { metadata: { uid, resourceVersion, labels: object.metadata.labels } };
  const options = { fieldManager: FIELD_MANAGERS.operator, signal };
  const written = await client.patch<KubeObject>(resourceOf(object), object.metadata, patch, options);
  view.noteWrite(written);
  return written;
}

function appliedAnew({ object, id, reason, stage, after }: Creation, found: UntypedObject, input: ActInput) {
  const { uid = '' } = found.metadata;
  // The number of pods stays: who decides it is looked at next.
  const { replicas } = (found['spec'] ?? {}) as { replicas?: number };
  const count = replicas === undefined ? {} : { replicas };
  return execute({ kind: 'apply', id, reason, stage, after, object, uid, drift: false, ...count }, input);
}
