import { LABELS, pullSecretName } from '../contract/names.ts';
import type { PurgeWork } from '../contract/work-protocol.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { RESOURCES, type Resource as ResourceKind } from '../kube/resources.ts';
import { credentialsCopyName, databaseName, tlsSecretName } from '../workloads/names.ts';
import type { StepResult } from './apply.ts';
import type { BuildSecrets } from './build-secrets.ts';
import { type EnvSecrets, isOurs } from './env-secrets.ts';
import { checkNamespace } from './refusal.ts';
import type { Resource, ResourceView } from './resource-view.ts';

/**
 * Removes everything of one deployment: first the custom resource and, before it, all that it owns; then what outlives
 * it. Each step can be repeated; only what carries the deployment's mark is touched, by uid. The namespace stays.
 */

export interface PurgeDeps {
  client: Pick<KubeClient, 'delete' | 'listAll'>;
  view: Pick<ResourceView, 'covers' | 'trouble' | 'refresh' | 'noteDelete'>;
  secrets: EnvSecrets;
  /** Absent: nothing is built in this cluster. */
  builds?: BuildSecrets | undefined;
  guard: () => void;
}

/** Until the garbage collector is done: mostly within seconds. What another's finalizer holds is looked at less often. */
const LOOK_MS = 500;
const SOON_LOOKS = 10;
const MOST_MS = 3000;
/** Kinds without owner, found by label. */
const UNOWNED: readonly ResourceKind[] = [RESOURCES.PersistentVolumeClaim, RESOURCES.ControllerRevision];

async function deleteResource(
  live: Resource,
  { keep_workloads: keepWorkloads }: PurgeWork,
  deps: PurgeDeps,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid } = live.metadata;
  deps.guard();
  try {
    const propagationPolicy = keepWorkloads ? 'Orphan' : 'Foreground';
    const options = { uid, propagationPolicy, signal } as const;
    await deps.client.delete(RESOURCES.ManagedDeployment, { namespace, name }, options);
    deps.view.noteDelete(live);
  } catch (error) {
    // Gone, or another one of the name by now: the next look tells.
    if (!isKubeError(error, 'not_found', 'conflict')) throw error;
  }
}

/** Secrets: the environments that the hub knows of, and the one that a leftover names; the credentials of database and registry. */
function secretNames(item: PurgeWork, live: Resource | undefined): string[] {
  const named = live?.spec?.revision?.envSecretName;
  return [
    ...new Set([
      ...item.env_secrets,
      ...(named?.startsWith(`${item.name}-env-`) ? [named] : []),
      databaseName({ metadata: { name: item.name } }),
      credentialsCopyName({ metadata: { name: item.name } }),
      pullSecretName(item.name),
    ]),
  ];
}

/** @returns whether something was still there */
async function deleteUnowned(
  kind: ResourceKind,
  item: PurgeWork,
  deps: PurgeDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, deployment_id: deploymentId } = item;
  const labelSelector = `${LABELS.deploymentId}=${deploymentId}`;
  const { items } = await deps.client.listAll(kind, { namespace, labelSelector, signal });
  const ours = items.filter((object) => isOurs(object, deploymentId));
  for (const { metadata } of ours) {
    if (metadata.deletionTimestamp !== undefined) continue;
    deps.guard();
    const options = { uid: metadata.uid, signal };
    await deps.client.delete(kind, { namespace, name: metadata.name }, options).catch((error) => {
      if (!isKubeError(error, 'not_found', 'conflict')) throw error;
    });
  }
  return ours.length > 0;
}

/** Kept between the looks at one deployment: which Secret a custom resource named while it was there, and how many looks there were. */
export type PurgeMemory = Map<string, { names: readonly string[]; looks: number }>;

/**
 * One look at a deployment that is to go. `done`: nothing of it was left.
 * @throws Refusal, KubeError, what `guard` throws
 */
export async function purgeItem(
  item: PurgeWork,
  memory: PurgeMemory,
  deps: PurgeDeps,
  signal: AbortSignal,
): Promise<StepResult> {
  const { namespace, name, deployment_id: deploymentId } = item;
  checkNamespace(deps.view, namespace);
  const live = await deps.view.refresh(namespace, name, signal);
  const known = memory.get(deploymentId);
  const names = [...new Set([...(known?.names ?? []), ...secretNames(item, live)])];
  const looks = (known?.looks ?? 0) + 1;
  memory.set(deploymentId, { names, looks });
  const later: StepResult = {
    kind: 'wait',
    ms: Math.min(LOOK_MS * Math.max(1, looks - SOON_LOOKS), MOST_MS),
  };
  if (live?.spec?.deploymentId === deploymentId) {
    if (live.metadata.deletionTimestamp === undefined) await deleteResource(live, item, deps, signal);
    return later;
  }
  if (item.keep_workloads) {
    await deps.builds?.remove(deploymentId, deps.guard, signal);
    memory.delete(deploymentId);
    return { kind: 'done' };
  }
  await deps.secrets.remove(item, names, deps.guard, signal);
  await deps.secrets.removeCertificate(item, tlsSecretName({ metadata: { name } }), deps.guard, signal);
  let left = false;
  for (const kind of UNOWNED) left = (await deleteUnowned(kind, item, deps, signal)) || left;
  if (await deps.builds?.remove(deploymentId, deps.guard, signal)) left = true;
  if (left) return later;
  memory.delete(deploymentId);
  return { kind: 'done' };
}
