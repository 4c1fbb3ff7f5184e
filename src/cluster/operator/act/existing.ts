import { MANAGED_DEPLOYMENT } from '../../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, FIELD_MANAGERS, LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import { identityValue } from '../../../workloads/labels.ts';
import { parseStoredTemplates } from '../../../workloads/stored-templates.ts';
import { controllerOf, type KubeObject, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { resourceOf } from '../../kube/client/resources.ts';
import { desiredHash } from '../../kube/compare/compare.ts';
import type { Action } from '../action.ts';
import { type ChildKindName, childKindOf } from '../kinds.ts';
import { appKeys } from '../observe/cache-keys.ts';
import { isOurs } from '../observe/ownership.ts';
import type { ActInput, Result } from './act.ts';
import { execute } from './execute.ts';

type Creation = Extract<Action, { kind: 'create' }>;

/**
 * What was to be made is there already: ours (the cache lags, or lost sight of it), or somebody else's.
 * @throws KubeError of a call on the way
 */
export async function explainExisting(action: Creation, input: ActInput): Promise<Result> {
  const { view, resource, signal } = input;
  const { namespace } = resource.metadata;
  const { object } = action;
  const { kind } = object;
  const { name } = object.metadata;
  const found = childKindOf(kind) && (await view.refresh(kind as ChildKindName, { namespace, name }, signal));
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return { kind: 'stale' };
  if (isOurs(found, resource)) return await known(action, found, input);
  if (isStripped(found, action.object)) return await takeBack(action, found, input);
  const owner = controllerOf(found);
  // Left from an earlier custom resource of this name; the garbage collector is about to remove it.
  if (owner?.kind === MANAGED_DEPLOYMENT.kind && owner.name === resource.metadata.name)
    return { kind: 'stale' };
  const holder = holderOf(found, resource);
  if (holder !== null) {
    return conflict(
      action,
      `${kind} ${name} belongs to ${holder}: give this deployment another name, or remove the other one`,
    );
  }
  const labels = Object.entries(object.metadata.labels).map(([key, value]) => `${key}=${value}`);
  return conflict(
    action,
    `${kind} ${name} exists and was not made by Berth for this deployment: rename or remove it. ` +
      `If it is Berth's and somebody took its labels off: kubectl label --overwrite -n ${namespace} ${kind.toLowerCase()} ${name} ${labels.join(' ')}`,
  );
}

/** The other deployment that an object of Berth's belongs to; null: none that it names. */
function holderOf(found: UntypedObject, resource: ActInput['resource']): string | null {
  const owner = controllerOf(found);
  if (owner?.kind === MANAGED_DEPLOYMENT.kind) return `the ManagedDeployment ${owner.name}`;
  const { labels = {} } = found.metadata;
  const id = labels[LABELS.deploymentId];
  const isOther =
    labels[LABELS.managedBy] === MANAGED_BY && id !== undefined && id !== identityValue(resource);
  return isOther ? `the deployment ${labels[LABELS.instance] ?? id} (${id})` : null;
}

function conflict({ id: actionId }: Creation, message: string): Result {
  return { kind: 'refused', failure: { actionId, reason: 'Conflict', final: false, message } };
}

/** Looks find it, by the label of our name or by an owner. */
const isInSight = (object: KubeObject, { resource }: ActInput) => appKeys(object).includes(keyOf(resource));

/** Ours by what it carries. What it holds is for the next look to judge, once that finds it. */
async function known(action: Creation, found: UntypedObject, input: ActInput): Promise<Result> {
  if (!isInSight(found, input))
    return action.once ? await named(action, found, input) : await takeBack(action, found, input);
  const { kind, metadata } = action.object;
  if (kind !== 'ControllerRevision' || parseStoredTemplates(found) !== null) return { kind: 'stale' };
  // What was stored in it is of some earlier wish, of which nothing else tells.
  return conflict(
    action,
    `the stored templates ${metadata.name} have lost a label, so nobody knows what they are of: ` +
      `kubectl delete controllerrevision -n ${metadata.namespace} ${metadata.name}`,
  );
}

/**
 * Ours, although its labels and its owner reference were taken off: it still notes the hash of exactly what is to be made,
 * in which both are counted, down to the uid of the custom resource.
 */
function isStripped(found: UntypedObject, wanted: KubeObject): boolean {
  const note = found.metadata.annotations?.[ANNOTATIONS.appliedHash];
  return note !== undefined && note === desiredHash(wanted, ANNOTATIONS.appliedHash);
}

async function takeBack(
  { object, id, reason, stage, after, probe }: Creation,
  found: UntypedObject,
  input: ActInput,
): Promise<Result> {
  const { uid = '' } = found.metadata;
  // The number of pods stays: who decides it is looked at next.
  const { replicas } = (found['spec'] ?? {}) as { replicas?: number };
  const count = replicas === undefined ? {} : { replicas };
  const tried = probe === undefined ? {} : { probe };
  const call = { id, reason, stage, after, object, uid, drift: false, ...count, ...tried };
  return { kind: 'done', written: await execute({ kind: 'apply', ...call }, input) };
}

/** What is made once keeps all that it holds, and what it says of it: it is not what would be made now. */
async function named(action: Creation, { metadata }: UntypedObject, input: ActInput): Promise<Result> {
  const { client, view, signal } = input;
  const { object } = action;
  const { name, namespace } = object.metadata;
  const { uid, resourceVersion } = metadata;
  const labels = { [LABELS.instance]: object.metadata.labels[LABELS.instance] };
  const options = { fieldManager: FIELD_MANAGERS.operator, signal };
  const patch = { metadata: { uid, resourceVersion, labels } };
  const written = await client.patch<UntypedObject>(resourceOf(object), object.metadata, patch, options);
  view.noteWrite(written);
  if (isInSight(written, input)) return { kind: 'stale' };
  return conflict(
    action,
    `${object.kind} ${name} in ${namespace} loses its label ${LABELS.instance} as often as it is put back: ` +
      'somebody or something (an admission webhook, another controller) takes it off, and has to leave it',
  );
}
