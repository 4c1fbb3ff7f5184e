import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, FIELD_MANAGERS } from '../../../contract/resource/names.ts';
import type { KubeObject as DesiredKubeObject } from '../../../workloads/desired-object.ts';
import { ownerReferences } from '../../../workloads/owner.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES, resourceOf } from '../../kube/client/resources.ts';
import { withHash } from '../../kube/compare/compare.ts';
import type { CredentialsRecord } from '../access/credentials-record.ts';
import { checkSecrets, ensureCredentials, ownCredentials } from '../access/secrets.ts';
import type { Action } from '../action.ts';
import { changeHash, clusterChange } from '../changes/cluster-changes.ts';
import { isImmutable } from '../changes/immutable-fields.ts';
import { removalPatch, withRemovals, withUid } from '../changes/removal-patch.ts';
import { differencesOf } from '../decide/comparison.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { ChildObject } from '../observed.ts';
import type { Posts } from './orphan-guard.ts';

export type WriteClient = Pick<KubeClient, 'get' | 'find' | 'create' | 'apply' | 'patch' | 'delete'>;

export interface Execution {
  readonly client: WriteClient;
  readonly view: Pick<ClusterView, 'noteWrite' | 'noteDelete'>;
  readonly resource: ManagedDeployment;
  readonly signal: AbortSignal;
  /** Every POST of what has no owner goes through it. */
  readonly posts: Posts;
  readonly credentials: CredentialsRecord;
}

type ActionOf<Kind extends Action['kind']> = Extract<Action, { kind: Kind }>;

/**
 * Sends the one call that the action stands for. Returns what was written or deleted, if it is in view; undefined also
 * where a dry run has shown that the cluster would still make something unsafe of it: then nothing is written.
 */
export async function execute(action: Action, execution: Execution): Promise<KubeObject | undefined> {
  switch (action.kind) {
    case 'create':
      return await create(action, execution);
    case 'apply':
      return await noted(applied(action, execution), execution);
    case 'scale':
      return await noted(scaled(action, execution), execution);
    case 'replace':
      return await replaced(action, execution);
    case 'volume':
      return await noted(volumeChanged(action, execution), execution);
    case 'credentials':
      await ensureCredentials(true, execution);
      return undefined;
    case 'secrets':
      return await checkSecrets(action, execution);
    case 'delete':
      return await remove(action, execution);
  }
}

async function noted<T extends KubeObject | undefined>(
  written: Promise<T>,
  { view }: Pick<Execution, 'view'>,
): Promise<T> {
  const object = await written;
  if (object !== undefined) view.noteWrite(object);
  return object;
}

/**
 * A resource version that no object has: etcd starts at 1 with nothing in it. An apply that carries it makes a missing
 * object and is refused (409) where there is one: a POST, but the fields belong to the apply manager from the start.
 * Fields of a real POST would stay for ever, because a later apply only removes what an apply has set.
 */
const NO_VERSION = '1';

async function create(action: ActionOf<'create'>, execution: Execution): Promise<KubeObject> {
  const { client, signal, posts } = execution;
  const { object, replicas, once } = action;
  const fieldManager = FIELD_MANAGERS.operator;
  if (once) return await noted(posts.create(object, execution), execution);
  const body = withSpec(withHash(object, ANNOTATIONS.appliedHash), withCount(replicas));
  const fenced = { ...body, metadata: { ...body.metadata, resourceVersion: NO_VERSION } };
  return await noted(client.apply<KubeObject>(fenced, { fieldManager, force: true, signal }), execution);
}

/**
 * An edited key of a list (the number of a port) makes the entry somebody else's: an apply would put ours beside it, and
 * two ports of one name are refused. Then the lists of the spec are put back whole first. Only against drift: what is
 * wanted was valid before.
 */
async function applied(
  action: ActionOf<'apply'>,
  { client, signal }: Execution,
): Promise<KubeObject | undefined> {
  const { object, uid, replicas, drift, resume, added, probe } = action;
  // Not part of the hash: with the next apply the field is nobody's again.
  const pods = resume === true ? { paused: false, ...withCount(replicas) } : withCount(replicas);
  const body = withSpec(withHash(object, ANNOTATIONS.appliedHash), pods);
  const fenced = { ...body, metadata: { ...body.metadata, uid } };
  const fieldManager = FIELD_MANAGERS.operator;
  const send = (dryRun = false) =>
    client.apply<KubeObject>(fenced, { fieldManager, force: true, signal, dryRun });
  const patched = (patch: object, dryRun: boolean) =>
    client.patch<KubeObject>(resourceOf(object), object.metadata, patch, {
      fieldManager,
      signal,
      dryRun,
      strategic: true,
    });
  /** Puts the lists back whole, where an edited key makes the apply invalid. */
  const restored = async (error: unknown, dryRun: boolean): Promise<KubeObject> => {
    if (!drift || !isKubeError(error, 'invalid') || object.spec === undefined) throw error;
    const patch = { metadata: { uid }, spec: object.spec };
    const options = { fieldManager, signal, dryRun };
    return await client.patch<KubeObject>(resourceOf(object), object.metadata, patch, options).catch(() => {
      throw error;
    });
  };
  const differences = (answer: KubeObject) => differencesOf(object, answer as ChildObject);
  if (probe !== undefined) {
    const tried = added === undefined ? send(true) : patched(withRemovals(body, uid, added), true);
    const answer = differences(await tried.catch((error: unknown) => restored(error, true)));
    // Another unsafe answer is no reason to write: a webhook may give another one to each request.
    if (changeHash(object, answer) === probe || clusterChange(object, answer)?.isSafe === false)
      return undefined;
  }
  // Before the apply: what else is to change comes to the pods together with it.
  if (added !== undefined) {
    const both = (error: unknown) => {
      // Without ours beside them, what is left may be invalid: a Service without a port.
      if (!isKubeError(error, 'invalid')) throw error;
      return patched(withRemovals(body, uid, added), false);
    };
    await patched(withUid(removalPatch(added), uid), false)
      .catch(both)
      // What is used by something that stays: it stays, and the answer to the apply names it.
      .catch((error: unknown) => {
        if (!isKubeError(error, 'invalid')) throw error;
      });
  }
  try {
    return await send();
  } catch (error) {
    const answer = await restored(error, false);
    // The cluster has changed the key again: an apply would be as invalid as before.
    return differences(answer).length > 0 ? answer : await send();
  }
}

/** In place of the last letters, so that a policy that goes by the beginning of the name applies to it. */
const PROBE_SUFFIX = '-probe';

/** Deletes an object with a field that cannot be changed, once the cluster makes another one of what is wanted. */
async function replaced(action: ActionOf<'replace'>, execution: Execution): Promise<KubeObject | undefined> {
  const { object, uid, keepsPods, comparison } = action;
  // An apply leaves a field that it does not own.
  const isAdded = comparison.differences.some(({ why }) => why === 'is added');
  const { client, signal } = execution;
  const options = { fieldManager: FIELD_MANAGERS.operator, force: true, signal, dryRun: true };
  const isRight = (answer: KubeObject) =>
    !differencesOf(object, answer as ChildObject).some((difference) => isImmutable(object, difference));
  const body = withHash(object, ANNOTATIONS.appliedHash);
  const again = { ...body, metadata: { ...body.metadata, uid } };
  try {
    // A policy that is still there changes the field before the API server sees that it would be another one.
    if (!isRight(await client.apply<KubeObject>(again, options)) && !isAdded) return undefined;
  } catch (error) {
    if (!isKubeError(error, 'invalid')) throw error;
  }
  // A policy may change only what is created.
  const name = `${object.metadata.name.slice(0, 63 - PROBE_SUFFIX.length)}${PROBE_SUFFIX}`;
  const fresh = { ...body, metadata: { ...body.metadata, name, resourceVersion: NO_VERSION } };
  if (!isRight(await client.apply<KubeObject>(fresh, options))) return undefined;
  return await remove(action, execution, keepsPods ? 'Orphan' : 'Background');
}

const withCount = (replicas: number | undefined) => (replicas === undefined ? {} : { replicas });

function withSpec(object: DesiredKubeObject, fields: object): DesiredKubeObject {
  if (Object.keys(fields).length === 0) return object;
  return { ...object, spec: { ...(object.spec as object), ...fields } };
}

async function scaled(
  action: ActionOf<'scale'>,
  { client, signal }: Execution,
): Promise<KubeObject | undefined> {
  const { object, uid, resourceVersion, replicas, force, probe } = action;
  const { name, namespace } = object.metadata;
  const { apiVersion, kind } = object;
  const scale = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, spec: { replicas } };
  const send = (dryRun = false) =>
    client.apply<KubeObject>(scale, { fieldManager: FIELD_MANAGERS.replicas, force, signal, dryRun });
  if (probe !== undefined && replicasOf(await send(true)) !== replicas) return undefined;
  return await send();
}

/** The number of pods that a workload asks for. */
export function replicasOf(workload: DesiredKubeObject | KubeObject): number {
  return (workload as { spec?: { replicas?: number } }).spec?.replicas ?? 1;
}

/** A merge patch, not an apply: an apply could not take back an owner reference that the creation has set. */
async function volumeChanged(action: ActionOf<'volume'>, execution: Execution): Promise<KubeObject> {
  const { client, resource, signal } = execution;
  const { object, uid, resourceVersion, change, followers } = action;
  const { namespace } = resource.metadata;
  const options = { fieldManager: FIELD_MANAGERS.operator, signal };
  const owners = change.owned === true ? (ownerReferences(resource).ownerReferences ?? []) : [];
  const ownership = change.owned === undefined ? {} : { ownerReferences: owners };
  if (change.owned !== undefined) {
    // Before the volume, whose ownership says that all is done.
    await ownCredentials(owners, execution);
    for (const { name, uid: followerUid } of followers) {
      const patch = { metadata: { uid: followerUid, ...ownership } };
      await client.patch(RESOURCES.ControllerRevision, { namespace, name }, patch, options).catch(unlessGone);
    }
  }
  const patched = (patch: object) =>
    client.patch<KubeObject & Record<string, unknown>>(
      RESOURCES.PersistentVolumeClaim,
      object.metadata,
      patch,
      options,
    );
  const handOver = () => patched({ metadata: { uid, resourceVersion, ...ownership } });
  const { storage } = change;
  if (storage === undefined) return await handOver();
  // By itself: a volume that may not grow still belongs to whom it shall belong.
  const seen = change.owned === undefined ? resourceVersion : (await handOver()).metadata.resourceVersion;
  return await patched({
    metadata: { uid, resourceVersion: seen },
    spec: { resources: { requests: { storage } } },
  });
}

function unlessGone(error: unknown): void {
  if (!isKubeError(error, 'not_found', 'conflict')) throw error;
}

async function remove(
  action: Pick<ActionOf<'delete'>, 'object' | 'uid' | 'resourceVersion'>,
  { client, view, signal }: Execution,
  propagationPolicy: 'Background' | 'Orphan' = 'Background',
): Promise<KubeObject> {
  const { object, uid, resourceVersion } = action;
  try {
    await client.delete(resourceOf(object), object.metadata, {
      uid,
      resourceVersion,
      propagationPolicy,
      signal,
    });
  } catch (error) {
    if (!isKubeError(error, 'not_found')) throw error;
  }
  const deleted = { ...object, metadata: { ...object.metadata, uid } };
  view.noteDelete(deleted);
  return deleted;
}
