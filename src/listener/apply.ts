import type { ApplyWork } from '../contract/listener-protocol.ts';
import { MANAGED_DEPLOYMENT } from '../contract/managed-deployment.ts';
import { ANNOTATIONS, envSecretName, FIELD_MANAGERS } from '../contract/names.ts';
import type { Logger } from '../domain/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import type { EnvSecrets } from './env-secrets.ts';
import { checkNamespace, Refusal } from './refusal.ts';
import { isEdited, type Resource, type ResourceView, specHashOf } from './resource-view.ts';
import type { TenantNamespaces } from './tenant-namespace.ts';

/** Brings one deployment's custom resource to what the hub wants. */

export interface ApplyDeps {
  client: Pick<KubeClient, 'create' | 'apply'>;
  view: Pick<ResourceView, 'covers' | 'trouble' | 'getSure' | 'refresh' | 'noteWrite'>;
  secrets: EnvSecrets;
  namespaces: TenantNamespaces;
  logger: Logger;
  /** Where Berth itself runs in this cluster; undefined: not known. */
  ownNamespace?: string | undefined;
  /** Throws when the lease does not hold any more. Called before each write. */
  guard: () => void;
}

/**
 * `wait`: something has to end in the cluster first; look again after so many milliseconds.
 * `late`: the cluster has a later generation, which was not overwritten.
 */
export type StepResult = { kind: 'done' } | { kind: 'wait'; ms: number } | { kind: 'late' };

const DONE: StepResult = { kind: 'done' };
/** A custom resource that is being deleted is applied again once it is gone. */
const DELETION_WAIT_MS = 500;
/** The operator writes status all the time: so often the resource may have changed between reading and writing. */
const CONFLICTS_TAKEN = 5;

function desired(item: ApplyWork): Resource {
  return {
    apiVersion: MANAGED_DEPLOYMENT.apiVersion,
    kind: MANAGED_DEPLOYMENT.kind,
    metadata: {
      name: item.name,
      namespace: item.namespace,
      labels: item.labels,
      annotations: { [ANNOTATIONS.specHash]: item.spec_hash },
    },
    spec: item.spec,
  };
}

/** Nothing of ours differs: no write. */
function isAsWanted(live: Resource, item: ApplyWork): boolean {
  const { labels = {}, annotations = {} } = live.metadata;
  return (
    specHashOf(live) === item.spec_hash &&
    annotations[ANNOTATIONS.specHash] === item.spec_hash &&
    Object.entries(item.labels).every(([key, value]) => labels[key] === value)
  );
}

/**
 * A later item was applied already: by another replica of the listener, or before the hub was restored from a backup.
 * Not so if the generation was raised by hand, which the listener's own note gives away.
 */
function isLate(live: Resource, item: ApplyWork): boolean {
  return live.spec.generation > item.generation && !isEdited(live);
}

async function create(item: ApplyWork, deps: ApplyDeps, signal: AbortSignal): Promise<StepResult> {
  deps.guard();
  try {
    const written = await deps.client.create(desired(item), {
      fieldManager: FIELD_MANAGERS.listener,
      signal,
    });
    noteWritten(written, item, deps);
    return DONE;
  } catch (error) {
    if (isKubeError(error, 'not_found') && item.create_namespace) deps.namespaces.forget(item.namespace);
    throw error;
  }
}

/** `uid` and resourceVersion: a resource that was deleted or changed meanwhile is not written to. */
async function update(
  live: Resource,
  item: ApplyWork,
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<StepResult> {
  const { uid, resourceVersion } = live.metadata;
  const object = desired(item);
  deps.guard();
  const written = await deps.client.apply(
    { ...object, metadata: { ...object.metadata, uid, resourceVersion } },
    { fieldManager: FIELD_MANAGERS.listener, signal },
  );
  noteWritten(written, item, deps);
  return DONE;
}

function noteWritten(written: Resource, item: ApplyWork, { view, logger }: ApplyDeps): void {
  view.noteWrite(written);
  if (specHashOf(written) === item.spec_hash) return;
  logger.error(
    { deploymentId: item.deployment_id, name: item.name, namespace: item.namespace },
    'the API server stored another spec than was applied: are crds/ of another version installed?',
  );
}

async function writeResource(item: ApplyWork, deps: ApplyDeps, signal: AbortSignal): Promise<StepResult> {
  const { namespace, name } = item;
  let live = await deps.view.getSure(namespace, name, signal);
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      if (live === undefined) return await create(item, deps, signal);
      if (live.spec.deploymentId !== item.deployment_id) {
        throw new Refusal(
          'Conflict',
          `a ManagedDeployment named ${name} exists that Berth did not make`,
          true,
        );
      }
      if (live.metadata.deletionTimestamp !== undefined) return { kind: 'wait', ms: DELETION_WAIT_MS };
      if (isLate(live, item)) return { kind: 'late' };
      if (isAsWanted(live, item)) return DONE;
      return await update(live, item, deps, signal);
    } catch (error) {
      if (!isKubeError(error, 'conflict', 'already_exists') || conflicts >= CONFLICTS_TAKEN) throw error;
    }
    live = await deps.view.refresh(namespace, name, signal);
  }
}

/**
 * Namespace, environments, custom resource, in this order: a custom resource never names what is not there.
 * @param repair this generation was applied before: believe no memory of what was there then
 * @throws Refusal, KubeError, what `guard` throws
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
  if (item.create_namespace) await deps.namespaces.ensure(tenant, deps.guard, signal);
  const made = await deps.secrets.ensure(item, repair, deps.guard, signal);
  const result = await writeResource(item, deps, signal);
  // A new environment means a new revision: the time to look for ones that are too old.
  if (made && result.kind === 'done') {
    const inUse = environmentsInUse(await deps.view.getSure(namespace, item.name, signal));
    const stale = item.stale_env_secrets.filter((name) => !inUse.has(name));
    await deps.secrets.prune(item, stale, deps.guard, signal);
  }
  return result;
}

/**
 * Environments of the revisions that the cluster runs or may return to. The hub may not have heard of them yet: in a row
 * of changes one comes up, and is old, before it was told. No other revision that is old by now can begin: the operator
 * names it in the status first, of the very resource that it has read.
 */
function environmentsInUse(live: Resource | undefined): ReadonlySet<string> {
  const { activeRevision, rollout, failedRevision } = live?.status ?? {};
  const inUse = [activeRevision, rollout, failedRevision].filter((revision) => revision !== undefined);
  return new Set(inUse.map(({ number }) => envSecretName(live?.metadata.name ?? '', number)));
}
