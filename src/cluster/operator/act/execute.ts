import type { ManagedDeployment } from '../../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, FIELD_MANAGERS } from '../../../contract/resource/names.ts';
import type { KubeObject as DesiredKubeObject } from '../../../workloads/desired-object.ts';
import { ownerReferences } from '../../../workloads/owner.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES, resourceOf } from '../../kube/client/resources.ts';
import { withHash } from '../../kube/compare/compare.ts';
import { isImmutable } from '../../kube/compare/compare-rules.ts';
import type { CredentialsRecord } from '../access/credentials-record.ts';
import { checkSecrets, ensureCredentials, ownCredentials } from '../access/secrets.ts';
import type { Action } from '../action.ts';
import { changeHash, clusterChange } from '../changes/cluster-changes.ts';
import { removalPatch, withRemovals, withUid } from '../changes/removal-patch.ts';
import { differencesOf } from '../decide/comparison.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { ChildObject } from '../observed.ts';
import type { OrphanGuard } from './orphan-guard.ts';

export type WriteClient = Pick<KubeClient, 'get' | 'find' | 'create' | 'apply' | 'patch' | 'delete'>;

export interface Execution {
  readonly client: WriteClient;
  readonly view: Pick<ClusterView, 'noteWrite' | 'noteDelete'>;
  readonly resource: ManagedDeployment;
  readonly signal: AbortSignal;
  /** Sends every POST of an object without an owner. */
  readonly orphanGuard: OrphanGuard;
  readonly credentials: CredentialsRecord;
}

type ActionOf<Kind extends Action['kind']> = Extract<Action, { kind: Kind }>;

/**
 * Executes one action. Returns the written or deleted object if the caches watch it. Writes nothing and returns
 * undefined if a dry run shows that the cluster would still change the object unsafely.
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
 * A resourceVersion that no object has, because etcd is empty at revision 1. An apply with this resourceVersion creates
 * a missing object and is rejected (409) if the object exists. Unlike a POST, this apply makes the apply manager own
 * the fields from the start. Fields that a POST set would never be removed, because an apply removes only fields that
 * an apply has set.
 */
const NO_VERSION = '1';

async function create(action: ActionOf<'create'>, execution: Execution): Promise<KubeObject> {
  const { client, signal, orphanGuard } = execution;
  const { object, replicas, once } = action;
  const fieldManager = FIELD_MANAGERS.operator;
  if (once) return await noted(orphanGuard.create(object, execution), execution);
  const body = withSpec(withHash(object, ANNOTATIONS.appliedHash), withCount(replicas));
  const fenced = {
    ...body,
    metadata: {
      ...body.metadata,
      // guard: create-only-if-absent
      resourceVersion: NO_VERSION,
    },
  };
  return await noted(client.apply<KubeObject>(fenced, { fieldManager, force: true, signal }), execution);
}

/**
 * An entry of a list whose key was edited, such as the number of a port, belongs to another manager. An apply would add
 * the desired entry to the edited one, and the API server rejects two ports of one name. In this case, a merge patch
 * restores the complete lists of the spec first. The patch is sent only against drift, because the desired object is
 * then known to be valid.
 */
async function applied(
  action: ActionOf<'apply'>,
  { client, signal }: Execution,
): Promise<KubeObject | undefined> {
  const { object, uid, replicas, drift, resume, added, foreign, probe } = action;
  // Fields without an owner are not part of the hash, because no manager owns them after the next apply.
  const pods = resume === true ? { paused: false, ...withCount(replicas) } : withCount(replicas);
  const body = withSpec(withHash(object, ANNOTATIONS.appliedHash), pods);
  const fenced = {
    ...body,
    metadata: {
      ...body.metadata,
      // guard: uid-in-applies
      uid,
    },
  };
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
  /** Restores the complete lists if an edited key makes the apply invalid. */
  const restored = async (error: unknown, dryRun: boolean): Promise<KubeObject> => {
    if (!drift || !isKubeError(error, 'invalid') || object.spec === undefined) throw error;
    const patch = { metadata: { uid }, spec: object.spec };
    const options = { fieldManager, signal, dryRun };
    return await client.patch<KubeObject>(resourceOf(object), object.metadata, patch, options).catch(() => {
      throw error;
    });
  };
  const differences = (response: KubeObject) => differencesOf(object, response as ChildObject);
  if (probe !== undefined) {
    const tried = added === undefined ? send(true) : patched(withRemovals(body, uid, added), true);
    const response = differences(await tried.catch((error: unknown) => restored(error, true)));
    // A different unsafe response is no reason to write, because a webhook may change each request differently.
    if (changeHash(object, response) === probe || clusterChange(object, response)?.isSafe === false)
      return undefined;
  }
  // The fields are removed before the apply, so that pods change only once.
  if (added !== undefined) {
    const both = (error: unknown) => {
      // Without the desired fields, the rest may be invalid, such as a Service without a port. Both changes are then
      // sent in one patch.
      if (!isKubeError(error, 'invalid')) throw error;
      return patched(withRemovals(body, uid, added), false);
    };
    await patched(withUid(removalPatch(added), uid), false)
      .catch(both)
      // A field that another field depends on is kept, and the response to the apply names it.
      .catch((error: unknown) => {
        if (!isKubeError(error, 'invalid')) throw error;
      });
  }
  try {
    return await send();
  } catch (error) {
    const response = await restored(error, false).catch(() => withoutForeign(error));
    // If the cluster has changed the key again, an apply would be invalid again.
    return differences(response).length > 0 ? response : await send();
  }

  /** Fields of other managers can make the desired object invalid, such as two sources of one volume. */
  async function withoutForeign(error: unknown): Promise<KubeObject> {
    if (foreign === undefined || !isKubeError(error, 'invalid')) throw error;
    return await patched(withRemovals(body, uid, foreign), false).catch(() => {
      throw error;
    });
  }
}

/** Replaces the end of the name, so that a policy that matches the start of the name applies to the probe too. */
const PROBE_SUFFIX = '-probe';

/** Deletes an object with a wrong immutable field, once dry runs show that the cluster no longer sets that field. */
async function replaced(action: ActionOf<'replace'>, execution: Execution): Promise<KubeObject | undefined> {
  const { object, uid, keepsPods, comparison } = action;
  // An apply does not remove a field that its manager does not own.
  const isAdded = comparison.differences.some(({ why }) => why === 'is added');
  const { client, signal } = execution;
  const options = { fieldManager: FIELD_MANAGERS.operator, force: true, signal, dryRun: true };
  const isRight = (response: KubeObject) =>
    !differencesOf(object, response as ChildObject).some((difference) => isImmutable(object, difference));
  const body = withHash(object, ANNOTATIONS.appliedHash);
  const again = { ...body, metadata: { ...body.metadata, uid } };
  try {
    // A policy that is still active changes the field before the API server validates that it is immutable.
    if (!isRight(await client.apply<KubeObject>(again, options)) && !isAdded) return undefined;
  } catch (error) {
    if (!isKubeError(error, 'invalid')) throw error;
  }
  // A policy may apply only to create requests.
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

/** The number of pods that a workload requests. */
export function replicasOf(workload: DesiredKubeObject | KubeObject): number {
  return (workload as { spec?: { replicas?: number } }).spec?.replicas ?? 1;
}

/** A merge patch is used, because an apply cannot remove an owner reference that the creation has set. */
async function volumeChanged(action: ActionOf<'volume'>, execution: Execution): Promise<KubeObject> {
  const { client, resource, signal } = execution;
  const { object, uid, resourceVersion, change, followers } = action;
  const { namespace } = resource.metadata;
  const options = { fieldManager: FIELD_MANAGERS.operator, signal };
  const owners = change.owned === true ? (ownerReferences(resource).ownerReferences ?? []) : [];
  const ownership = change.owned === undefined ? {} : { ownerReferences: owners };
  if (change.owned !== undefined) {
    // The volume changes last, because its owner shows that the change is complete.
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
  // The size changes in a separate call, so that the owner is set even if the volume cannot grow.
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
      // guard: preconditions-of-deletes
      ...{ uid, resourceVersion },
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
