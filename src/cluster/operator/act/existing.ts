import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
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
 * Handles a creation whose name is taken, by an object of this deployment that the cache does not show, or by another
 * object.
 * @throws KubeError of a failed call
 */
export async function explainExisting(action: Creation, input: ActInput): Promise<Result> {
  const { view, resource, signal } = input;
  const { namespace } = resource.metadata;
  const { object } = action;
  const { kind } = object;
  const { name } = object.metadata;
  const found = childKindOf(kind) && (await view.refresh(kind as ChildKindName, { namespace, name }, signal));
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return { kind: 'stale' };
  if (isOurs(found, resource)) return await reconcileOwn(action, found, input);
  // guard: labels-before-adoption
  if (isStripped(found, action.object)) return await adopt(action, found, input);
  const owner = controllerOf(found);
  // An earlier custom resource of this name owns the object, so the garbage collector is about to remove it.
  if (owner?.kind === MANAGED_DEPLOYMENT.kind && owner.name === resource.metadata.name)
    return { kind: 'stale' };
  const holder = holderOf(found, resource);
  if (holder !== null) {
    return conflict(
      action,
      `${kind} ${name} belongs to ${holder}: use another name for this deployment, or remove the other deployment`,
    );
  }
  const labels = Object.entries(object.metadata.labels).map(([key, value]) => `${key}=${value}`);
  return conflict(
    action,
    `${kind} ${name} exists and was not created by Berth for this deployment: rename or remove it. ` +
      `If Berth created this object and its labels were removed: kubectl label --overwrite -n ${namespace} ` +
      `${kind.toLowerCase()} ${name} ${labels.join(' ')}`,
  );
}

/** The other deployment that an object of Berth belongs to; null: the object names no other deployment. */
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

/** Whether the caches find the object, by the instance label or by an owner. */
const isInCaches = (object: KubeObject, { resource }: ActInput) => appKeys(object).includes(keyOf(resource));

/**
 * Handles an object that belongs to this deployment according to its labels or owner. The next reconcile judges the
 * content of the object.
 */
async function reconcileOwn(action: Creation, found: UntypedObject, input: ActInput): Promise<Result> {
  if (!isInCaches(found, input))
    return action.once ? await restoreLabel(action, found, input) : await adopt(action, found, input);
  const { kind, metadata } = action.object;
  if (kind !== 'ControllerRevision' || parseStoredTemplates(found) !== null) return { kind: 'stale' };
  // The object stores the templates of an unknown revision.
  return conflict(
    action,
    `the stored templates ${metadata.name} have lost a label, so their revision is unknown: ` +
      `kubectl delete controllerrevision -n ${metadata.namespace} ${metadata.name}`,
  );
}

/**
 * Whether the object belongs to this deployment although its labels and owner reference were removed. The annotation of
 * an object of this deployment still has the hash of the desired object, which covers labels, owner reference and the
 * uid of the custom resource.
 */
function isStripped(found: UntypedObject, wanted: KubeObject): boolean {
  const note = found.metadata.annotations?.[ANNOTATIONS.appliedHash];
  return note !== undefined && note === desiredHash(wanted, ANNOTATIONS.appliedHash);
}

async function adopt(
  { object, id, reason, stage, after, probe }: Creation,
  found: UntypedObject,
  input: ActInput,
): Promise<Result> {
  const { uid = '' } = found.metadata;
  // This write does not change the number of pods. The next reconcile decides about the number.
  const { replicas } = (found['spec'] ?? {}) as { replicas?: number };
  const count = replicas === undefined ? {} : { replicas };
  const tried = probe === undefined ? {} : { probe };
  const call = { id, reason, stage, after, object, uid, drift: false, ...count, ...tried };
  return { kind: 'done', written: await execute({ kind: 'apply', ...call }, input) };
}

/**
 * Restores only the instance label. An object that is created once keeps its content, which may differ from the desired
 * content.
 */
async function restoreLabel(action: Creation, { metadata }: UntypedObject, input: ActInput): Promise<Result> {
  const { client, view, signal } = input;
  const { object } = action;
  const { name, namespace } = object.metadata;
  const { uid, resourceVersion } = metadata;
  const labels = { [LABELS.instance]: object.metadata.labels[LABELS.instance] };
  const options = { fieldManager: FIELD_MANAGERS.operator, signal };
  const patch = { metadata: { uid, resourceVersion, labels } };
  const written = await client.patch<UntypedObject>(resourceOf(object), object.metadata, patch, options);
  view.noteWrite(written);
  if (isInCaches(written, input)) return { kind: 'stale' };
  return conflict(
    action,
    `${object.kind} ${name} in ${namespace} loses its label ${LABELS.instance} each time it is restored: ` +
      'find the user, admission webhook or controller that removes the label, and exclude this object from it',
  );
}
