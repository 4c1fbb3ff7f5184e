import type { ApplyWork } from '../../../contract/protocol/work-protocol.ts';
import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import { currentSpec } from '../../../contract/resource/former-names.ts';
import { ANNOTATIONS, FIELD_MANAGERS } from '../../../contract/resource/names.ts';
import { notedClaim } from '../../../contract/resource/volume-confirmation.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { DeletionHold } from '../../../domain/deployment/deletion-hold.ts';
import { MAX_GENERATION } from '../../../domain/deployment/generation.ts';
import { wantedHost } from '../../../workloads/objects/app-url.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { BuildSecrets } from '../builds/build-secrets.ts';
import { checkNamespace, Refusal } from '../refusal.ts';
import {
  identityConflict,
  isEdited,
  keepsFormerNames,
  type Resource,
  type ResourceView,
  recordGenerationOf,
  specHashOf,
} from '../resource-view.ts';
import type { EnvSecrets } from './env-secrets.ts';
import { formerDomainHashes } from './former-domains.ts';
import type { IdentityRecords } from './identity-records.ts';
import type { PullSecrets } from './pull-secret.ts';
import { namespaceHold } from './purge-holds.ts';
import type { TenantNamespaces } from './tenant-namespace.ts';
import { confirmationNote, databaseClaim } from './volume-confirmation.ts';

/** Applies the desired state of one deployment to its custom resource. */

export interface ApplyDeps {
  client: Pick<KubeClient, 'create' | 'apply' | 'find' | 'listAll'>;
  view: Pick<ResourceView, 'covers' | 'trouble' | 'get' | 'getSure' | 'refresh' | 'writing' | 'noteWrite'>;
  secrets: EnvSecrets;
  pullSecrets: PullSecrets;
  identities: IdentityRecords;
  /** Absent: this cluster builds no images. */
  builds?: BuildSecrets | undefined;
  namespaces: TenantNamespaces;
  logger: Logger;
  /** Namespace of Berth itself in this cluster; undefined: unknown. */
  ownNamespace?: string | undefined;
  /** Throws when the lease is no longer held. Called before each write. */
  guard: () => void;
}

/**
 * `done`: the item was applied. `gone` names the revisions whose environments were removed. `wait`: another operation
 * in the cluster must finish first; retry after `ms`. `late`: the cluster has a later generation, which was not
 * overwritten.
 */
export type StepResult =
  | { kind: 'done'; gone?: readonly number[] }
  /** `hold`: what blocks the deletion, if known. */
  | { kind: 'wait'; ms: number; hold?: DeletionHold }
  | { kind: 'late' };

const DONE: StepResult = { kind: 'done' };
/** A custom resource that is being deleted is applied again once it is gone. */
const DELETION_WAIT_MS = 500;
/** The operator writes the status often, so the resource may change several times between read and write. */
const MAX_CONFLICTS = 5;

/**
 * Whether the host of the URL changes with this item, or changed earlier and the certificate of the former host may
 * still exist.
 */
function leavesHost(live: Resource | undefined, item: ApplyWork): boolean {
  if (live === undefined) return false;
  const before = wantedHost(live.spec);
  const isNoted = live.metadata.annotations?.[ANNOTATIONS.formerHost] !== undefined;
  return isNoted || (before !== null && before !== wantedHost(item.spec));
}

/** Annotation with the former additional hosts whose certificates may still exist. */
function formerDomains(live: Resource | undefined, item: ApplyWork): Record<string, string> {
  const left = formerDomainHashes(live, item.spec);
  return left.length === 0 ? {} : { [ANNOTATIONS.formerDomains]: left.join(',') };
}

function desired(item: ApplyWork, live?: Resource): Resource {
  return {
    apiVersion: MANAGED_DEPLOYMENT.apiVersion,
    kind: MANAGED_DEPLOYMENT.kind,
    metadata: {
      name: item.name,
      namespace: item.namespace,
      labels: item.labels,
      annotations: {
        [ANNOTATIONS.specHash]: item.spec_hash,
        ...(leavesHost(live, item) ? { [ANNOTATIONS.formerHost]: 'true' } : {}),
        ...formerDomains(live, item),
      },
    },
    spec: keepsFormerNames(live) ? (item.spec as unknown as Resource['spec']) : currentSpec(item.spec),
  };
}

/** Adds the claim whose removal the owner has confirmed. */
async function withNote(
  resource: Resource,
  live: Resource | undefined,
  item: ApplyWork,
  { client }: ApplyDeps,
  signal: AbortSignal,
): Promise<Resource> {
  const findClaim = () => databaseClaim(item, item.deployment_id, client, signal);
  const next = { spec: currentSpec(item.spec), begunClaim: item.claim_to_remove };
  const note = await confirmationNote(live, next, findClaim);
  const { metadata } = resource;
  return { ...resource, metadata: { ...metadata, annotations: { ...metadata.annotations, ...note } } };
}

/** Whether no field that the hub sets differs, so that no write is needed. */
function isUpToDate(live: Resource, item: ApplyWork): boolean {
  const { labels = {}, annotations = {} } = live.metadata;
  return (
    specHashOf(live) === item.spec_hash &&
    annotations[ANNOTATIONS.specHash] === item.spec_hash &&
    (item.claim_to_remove === undefined || notedClaim(live) === item.claim_to_remove) &&
    Object.entries(item.labels).every(([key, value]) => labels[key] === value)
  );
}

/**
 * Whether a later item was applied already, by another replica of the listener, or before the hub was restored from a
 * backup. A generation does not count when it was raised by hand, which the listener's annotation shows. A generation
 * that no hub could issue does not count either, because any account that writes custom resources can also write the
 * annotation.
 */
function isLate(live: Resource, item: ApplyWork): boolean {
  const generation = recordGenerationOf(live);
  return (
    typeof generation === 'number' &&
    generation > item.generation &&
    generation < MAX_GENERATION &&
    !isEdited(live)
  );
}

async function create(item: ApplyWork, deps: ApplyDeps, signal: AbortSignal): Promise<StepResult> {
  const resource = await withNote(desired(item), undefined, item, deps, signal);
  deps.guard();
  try {
    const options = { fieldManager: FIELD_MANAGERS.listener, signal };
    const written = await deps.view.writing(resource, () => deps.client.create(resource, options));
    noteWritten(written, item, deps);
    return DONE;
  } catch (error) {
    if (isKubeError(error, 'not_found') && item.create_namespace) deps.namespaces.forget(item.namespace);
    throw error;
  }
}

/**
 * The preconditions `uid` and resourceVersion prevent a write to a resource that was deleted or changed since it was
 * read.
 */
async function update(
  live: Resource,
  item: ApplyWork,
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<StepResult> {
  const { uid, resourceVersion } = live.metadata;
  const object = await withNote(desired(item, live), live, item, deps, signal);
  deps.guard();
  const written = await deps.view.writing(object, () =>
    deps.client.apply(
      {
        ...object,
        metadata: {
          ...object.metadata,
          // guard: uid-in-applies-of-listener
          uid,
          // guard: version-in-applies-of-listener
          resourceVersion,
        },
      },
      { fieldManager: FIELD_MANAGERS.listener, signal },
    ),
  );
  noteWritten(written, item, deps);
  return DONE;
}

function noteWritten(written: Resource, item: ApplyWork, { view, logger }: ApplyDeps): void {
  view.noteWrite(written);
  if (specHashOf(written) === item.spec_hash) return;
  logger.error(
    { deploymentId: item.deployment_id, name: item.name, namespace: item.namespace },
    'the API server stored a different spec than was applied; check that the installed CRDs (crds/) have the version of Berth',
  );
}

/** The custom resource of another deployment has this name. */
class NameTaken extends Refusal {
  constructor(name: string) {
    super('Conflict', `a ManagedDeployment named ${name} exists that Berth did not create`, true);
  }
}

function isOfAnother({ spec }: Resource, item: ApplyWork): boolean {
  // guard: custom-resource-of-another
  return spec?.deploymentId !== item.deployment_id;
}

/**
 * Rejects an item whose name another resource has, before any Secret is created, because the pods of that resource may
 * refer to Secrets of that name. The identity record of the name prevents the operator from accepting that resource if
 * it has not done so yet.
 * @throws Refusal Conflict
 */
async function checkName(item: ApplyWork, deps: ApplyDeps, signal: AbortSignal): Promise<void> {
  const live = await deps.view.getSure(item.namespace, item.name, signal);
  if (live === undefined || !isOfAnother(live, item)) return;
  await deps.identities.put(item, 'claimed', deps.guard, signal);
  throw new NameTaken(item.name);
}

/**
 * Removes the Secrets that this call created, when another resource has taken the name since then. Secrets that existed
 * before are kept, because they may belong to running workloads whose custom resource is gone.
 */
async function removeSecrets(
  created: readonly string[],
  item: ApplyWork,
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<void> {
  if (created.length === 0) return;
  deps.pullSecrets.forget(desired(item));
  await deps.secrets.remove(item, created, deps.guard, signal);
}

async function writeResource(item: ApplyWork, deps: ApplyDeps, signal: AbortSignal): Promise<StepResult> {
  const { namespace, name } = item;
  let live = await deps.view.getSure(namespace, name, signal);
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      if (live === undefined) return await create(item, deps, signal);
      if (isOfAnother(live, item)) throw new NameTaken(name);
      if (live.metadata.deletionTimestamp !== undefined) return { kind: 'wait', ms: DELETION_WAIT_MS };
      if (isLate(live, item)) return { kind: 'late' };
      if (isUpToDate(live, item)) return DONE;
      return await update(live, item, deps, signal);
    } catch (error) {
      if (!isKubeError(error, 'conflict', 'already_exists') || conflicts >= MAX_CONFLICTS) throw error;
    }
    live = await deps.view.refresh(namespace, name, signal);
  }
}

/** Writes the credentials of a build before the custom resource requests the build. */
async function writeWithBuild(item: ApplyWork, deps: ApplyDeps, signal: AbortSignal): Promise<StepResult> {
  try {
    await deps.builds?.ensure(item, deps.guard, signal);
    return await writeResource(item, deps, signal);
  } finally {
    deps.builds?.afterWrite(item);
  }
}

/** Adds what blocks the deletion of the namespace. The API server only reports that the namespace is being deleted. */
async function namespaceRefusal(
  error: unknown,
  namespace: string,
  { client }: ApplyDeps,
  signal: AbortSignal,
): Promise<unknown> {
  const isTerminating = ({ reason }: { reason?: string | undefined }) => reason === 'NamespaceTerminating';
  if (!isKubeError(error) || !error.causes.some(isTerminating)) return error;
  const hold = await namespaceHold(client, namespace, signal);
  const message = hold?.message ?? `Namespace ${namespace} is being deleted`;
  return new Refusal('NamespaceTerminating', message, true);
}

/**
 * The operator has blocked the resource because of its identity. The listener records the identity for this deployment,
 * and the operator decides again. Until the operator decides, the hub receives the reason, and hands the item out
 * again.
 * @throws Refusal Conflict with the message of the operator
 */
async function claimIdentity(item: ApplyWork, deps: ApplyDeps, signal: AbortSignal): Promise<void> {
  const live = deps.view.get(item.namespace, item.name);
  const message = live?.spec?.deploymentId === item.deployment_id ? identityConflict(live) : null;
  if (message === null) return;
  await deps.identities.put(item, 'claimed', deps.guard, signal);
  throw new Refusal('Conflict', message, true);
}

/**
 * Writes namespace, Secrets and custom resource in this order, so that the custom resource never refers to a missing
 * object.
 * @param repair this generation was applied before, so the caches of existing objects are not trusted
 * @throws Refusal, KubeError, and the error of `guard`
 */
export async function applyItem(
  item: ApplyWork,
  repair: boolean,
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<StepResult> {
  const { namespace, tenant_id: tenantId } = item;
  if (namespace === deps.ownNamespace) {
    throw new Refusal('NamespaceNotAllowed', `${namespace} is the namespace of Berth itself`, false);
  }
  checkNamespace(deps.view, namespace);
  const tenant = { name: namespace, tenantId, quotas: item.tenant_quotas };
  const created: string[] = [];
  let result: StepResult;
  try {
    if (item.create_namespace) await deps.namespaces.ensure(tenant, deps.guard, signal);
    await checkName(item, deps, signal);
    created.push(...(await deps.secrets.ensure(item, repair, deps.guard, signal)));
    created.push(...(await deps.pullSecrets.ensure(item, repair, deps.guard, signal)));
    result = await writeWithBuild(item, deps, signal);
  } catch (error) {
    if (error instanceof NameTaken) await removeSecrets(created, item, deps, signal);
    throw await namespaceRefusal(error, namespace, deps, signal);
  }
  await claimIdentity(item, deps, signal);
  if (result.kind !== 'done' || item.stale_env_revisions.length === 0) return result;
  const inUse = revisionsInUse(await deps.view.getSure(namespace, item.name, signal));
  const stale = item.stale_env_revisions.filter((number) => !inUse.has(number));
  return { kind: 'done', gone: await deps.secrets.prune(item, stale, deps.guard, signal) };
}

/**
 * Numbers of the revisions that the cluster runs or may return to, including revisions that the hub may not know yet.
 * In a quick series of changes, a revision can become active and outdated again before it is reported. No other
 * outdated revision can start, because the operator first writes the number of a revision to the status of the resource
 * that it has read.
 */
function revisionsInUse(live: Resource | undefined): ReadonlySet<number> {
  const { activeRevision, rollout, failedRevision } = live?.status ?? {};
  const inUse = [activeRevision, rollout, failedRevision].filter((revision) => revision !== undefined);
  return new Set(inUse.map(({ number }) => number));
}
