import type { PurgeWork } from '../../../contract/protocol/work-protocol.ts';
import { hostHash, identitySecretName, LABELS, pullSecretName } from '../../../contract/resource/names.ts';
import {
  combinedHold,
  type DeletionHold,
  finalizerHold,
  isHoldReason,
} from '../../../domain/deployment/deletion-hold.ts';
import {
  credentialsCopyName,
  databaseName,
  hostTlsSecretName,
  tlsSecretName,
} from '../../../workloads/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { refusedHold } from '../../kube/client/refused-deletion.ts';
import { RESOURCES, type Resource as ResourceKind } from '../../kube/client/resources.ts';
import type { BuildSecrets } from '../builds/build-secrets.ts';
import { checkNamespace } from '../refusal.ts';
import type { Resource, ResourceView } from '../resource-view.ts';
import type { StepResult } from './apply.ts';
import { belongsToDeployment, type EnvSecrets } from './env-secrets.ts';
import { formerDomainHashes } from './former-domains.ts';
import type { IdentityRecords } from './identity-records.ts';
import { leftPodHolds, namespaceHold, objectHolds, type PodSummary, podsIn } from './purge-holds.ts';

/**
 * Removes all objects of one deployment: first the custom resource with all objects that it owns, then the objects that
 * outlive it. Each step can be repeated. Only objects with the deployment's labels are deleted, by uid. The namespace
 * stays.
 */

export interface PurgeDeps {
  client: Pick<KubeClient, 'delete' | 'find' | 'listAll'>;
  view: Pick<ResourceView, 'covers' | 'trouble' | 'refresh' | 'noteDelete'>;
  secrets: EnvSecrets;
  identities: IdentityRecords;
  /** Absent: this cluster builds no images. */
  builds?: BuildSecrets | undefined;
  guard: () => void;
  /** Time to compare with the deadline of terminating pods; default: the system's clock. */
  now?: () => Date;
}

/**
 * Interval between checks. The garbage collector usually needs seconds. Objects with foreign finalizers are checked
 * less often.
 */
const CHECK_MS = 500;
const FREQUENT_CHECKS = 10;
const MAX_CHECK_MS = 3000;
/** A rejected call is repeated less often than an object is read. */
const MAX_REJECTED_MS = 15_000;
/**
 * Number of checks after which a custom resource without a reported hold is reported, because its operator may not run.
 */
const MAX_SILENT_CHECKS = 20;
/** Kinds without an owner reference, found by label. */
const UNOWNED: readonly ResourceKind[] = [RESOURCES.PersistentVolumeClaim, RESOURCES.ControllerRevision];

/**
 * Records the identity of a deployment whose workloads are kept. No record is needed when the namespace is gone or
 * being deleted.
 */
async function recordLeft(item: PurgeWork, deps: PurgeDeps, signal: AbortSignal): Promise<void> {
  try {
    await deps.identities.put(item, 'left', deps.guard, signal);
  } catch (error) {
    const isLeaving =
      isKubeError(error) &&
      (error.kind === 'not_found' || error.causes.some(({ reason }) => reason === 'NamespaceTerminating'));
    if (!isLeaving) throw error;
  }
}

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
    // The object is gone, or another object has taken its name. The next check shows which.
    if (!isKubeError(error, 'not_found', 'conflict')) throw error;
  }
}

/**
 * Secrets to delete: the environments that the hub knows, the environment that a leftover resource names, and the
 * credentials of database and registry.
 */
function secretNames(item: PurgeWork, live: Resource | undefined): string[] {
  const named = live?.spec?.revision?.envSecretName;
  return [
    ...new Set([
      ...item.env_secrets,
      ...(named?.startsWith(`${item.name}-env-`) ? [named] : []),
      databaseName({ metadata: { name: item.name } }),
      credentialsCopyName({ metadata: { name: item.name } }),
      pullSecretName(item.name),
      identitySecretName(item.name),
    ]),
  ];
}

/**
 * Secrets that cert-manager keeps, which have no label of Berth: those of the hosts that the hub knows, and of all hosts that the
 * custom resource has or had. The hub no longer knows a host that was removed just before the deletion.
 */
function certificateSecrets({ name, domains = [] }: PurgeWork, live: Resource | undefined): string[] {
  const ofApp = { metadata: { name } };
  const hashes = new Set([...domains.map(hostHash), ...formerDomainHashes(live, {})]);
  return [tlsSecretName(ofApp), ...[...hashes].map((hash) => hostTlsSecretName(ofApp, hash))];
}

/** @returns the objects that still existed */
async function deleteUnowned(
  kind: ResourceKind,
  item: PurgeWork,
  deps: PurgeDeps,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const { namespace, deployment_id: deploymentId } = item;
  const labelSelector = `${LABELS.deploymentId}=${deploymentId}`;
  const { items } = await deps.client.listAll(kind, { namespace, labelSelector, signal });
  const ours = items.filter((object) => belongsToDeployment(object, deploymentId));
  for (const { metadata } of ours) {
    if (metadata.deletionTimestamp !== undefined) continue;
    deps.guard();
    const options = { uid: metadata.uid, signal };
    await deps.client.delete(kind, { namespace, name: metadata.name }, options).catch((error) => {
      if (!isKubeError(error, 'not_found', 'conflict')) throw error;
    });
  }
  return ours.map((object) => ({ ...object, kind: kind.kind }));
}

/**
 * State between the checks of one deployment: the Secrets and the certificates that its custom resource named while it
 * existed, and the number of checks.
 */
export type PurgeMemory = Map<string, PurgeSecrets & { checks: number }>;

/** Names of the Secrets to delete. */
interface PurgeSecrets {
  readonly names: readonly string[];
  readonly certificates: readonly string[];
}

/** The result of one check: objects that still exist, and what is known to block them. */
interface Found {
  readonly left: KubeObject[];
  readonly holds: DeletionHold[];
  /** Whether the cluster has rejected a call. */
  rejected: boolean;
}

/** Runs one step. A rejection by the cluster is recorded and does not stop the other steps. */
async function attempt(
  found: Found,
  namespace: string,
  step: () => Promise<readonly KubeObject[]>,
): Promise<void> {
  try {
    found.left.push(...(await step()));
  } catch (error) {
    const hold = refusedHold(error, namespace);
    if (hold === null) throw error;
    found.holds.push(hold);
    found.rejected = true;
  }
}

/**
 * The custom resource is deleted first, together with the objects that it owns. The operator usually reports in the
 * status what blocks the deletion.
 */
function resourceHolds(live: Resource, checks: number): DeletionHold[] {
  const { metadata, status } = live;
  if (metadata.deletionTimestamp === undefined) return [];
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready !== undefined && isHoldReason(ready.reason)) {
    return [{ reason: ready.reason, message: ready.message }];
  }
  const object = { ...live, kind: RESOURCES.ManagedDeployment.kind };
  const held = finalizerHold(object);
  if (held !== null) return [held];
  if (checks <= MAX_SILENT_CHECKS) return [];
  const message = `ManagedDeployment ${metadata.name} is being deleted and waits for objects that it owns`;
  return [{ reason: 'DependentsLeft', message }];
}

/**
 * Pods of the deployment that still run after the custom resource is gone, because the workload that controls them has
 * lost its owner.
 */
async function leftPods(item: PurgeWork, { client }: PurgeDeps, signal: AbortSignal): Promise<PodSummary[]> {
  const { namespace, deployment_id: deploymentId } = item;
  const labelSelector = `${LABELS.deploymentId}=${deploymentId}`;
  const pods = await podsIn(client, { namespace, labelSelector, signal });
  return pods.filter((pod) => !pod.ended && belongsToDeployment(pod, deploymentId));
}

/** Removes the objects that outlive the custom resource. */
async function removeRest(
  item: PurgeWork,
  { names, certificates }: PurgeSecrets,
  deps: PurgeDeps,
  signal: AbortSignal,
): Promise<Found> {
  const { namespace, deployment_id: deploymentId } = item;
  const { secrets, guard } = deps;
  const found: Found = { left: [], holds: [], rejected: false };
  const ofKind = (kind: string) => (object: KubeObject) => ({ ...object, kind });
  await attempt(found, namespace, async () => {
    const kept = await secrets.remove(item, names, guard, signal);
    for (const secret of certificates) {
      const tls = await secrets.removeCertificate(item, secret, guard, signal);
      if (tls !== undefined && (tls.metadata.finalizers ?? []).length > 0) kept.push(tls);
    }
    return kept.map(ofKind(RESOURCES.Secret.kind));
  });
  for (const kind of UNOWNED) {
    await attempt(found, namespace, () => deleteUnowned(kind, item, deps, signal));
  }
  await attempt(found, namespace, async () => (await deps.builds?.remove(deploymentId, guard, signal)) ?? []);
  return found;
}

/** What blocks the objects that still exist. */
async function restHolds(
  { left, holds }: Found,
  item: PurgeWork,
  checks: number,
  deps: PurgeDeps,
  signal: AbortSignal,
): Promise<DeletionHold[]> {
  const { namespace } = item;
  const now = deps.now?.() ?? new Date();
  const lasts = checks > FREQUENT_CHECKS;
  const isProtected = left.some(({ kind }) => kind === RESOURCES.PersistentVolumeClaim.kind);
  // All pods of the namespace are read, because any of them may use the claim.
  const pods =
    lasts && isProtected ? await podsIn(deps.client, { namespace, signal }).catch(nothingIfRefused) : [];
  const own = left.filter((object): object is PodSummary => 'claims' in object);
  const others = left.filter((object) => !own.includes(object as PodSummary));
  return [
    ...holds,
    ...others.flatMap((object) => objectHolds(object, pods, { now, lasts })),
    ...(lasts ? leftPodHolds(own, now) : []),
  ];
}

function nothingIfRefused(error: unknown): PodSummary[] {
  if (!isKubeError(error, 'forbidden')) throw error;
  return [];
}

/**
 * Checks and continues the purge of one deployment. `done`: nothing is left. `wait` contains what blocks the purge,
 * if known.
 * @throws Refusal, KubeError, and the error of `guard`
 */
export async function purgeItem(
  item: PurgeWork,
  memory: PurgeMemory,
  deps: PurgeDeps,
  signal: AbortSignal,
): Promise<StepResult> {
  const { namespace, name, deployment_id: deploymentId } = item;
  checkNamespace(deps.view, namespace);
  const known = memory.get(deploymentId);
  const checks = (known?.checks ?? 0) + 1;
  const later = async (holds: readonly DeletionHold[], rejected = false): Promise<StepResult> => {
    const ms = rejected ? 2 * CHECK_MS * checks : CHECK_MS * Math.max(1, checks - FREQUENT_CHECKS);
    const lasts = checks > FREQUENT_CHECKS && holds.length > 0;
    const ofNamespace = lasts ? await namespaceHold(deps.client, namespace, signal) : null;
    const hold = combinedHold(ofNamespace === null ? holds : [...holds, ofNamespace]);
    const wait = { kind: 'wait', ms: Math.min(ms, rejected ? MAX_REJECTED_MS : MAX_CHECK_MS) } as const;
    return hold === undefined ? wait : { ...wait, hold };
  };
  const first: Found = { left: [], holds: [], rejected: false };
  let live: Resource | undefined;
  await attempt(first, namespace, async () => {
    live = await deps.view.refresh(namespace, name, signal);
    return [];
  });
  const names = [...new Set([...(known?.names ?? []), ...secretNames(item, live)])];
  // guard: purge-of-another
  if (live?.spec?.deploymentId !== deploymentId) live = undefined;
  const certificates = [...new Set([...(known?.certificates ?? []), ...certificateSecrets(item, live)])];
  memory.set(deploymentId, { names, certificates, checks });
  if (live !== undefined) {
    const present = live;
    if (present.metadata.deletionTimestamp === undefined) {
      await attempt(first, namespace, async () => {
        // The identity is recorded before the deletion, so that no other resource with this name and id adopts the kept
        // workloads.
        if (item.keep_workloads) await recordLeft(item, deps, signal);
        await deleteResource(present, item, deps, signal);
        return [];
      });
    }
    return later([...first.holds, ...resourceHolds(present, checks)], first.rejected);
  }
  if (first.rejected) return later(first.holds, true);
  if (item.keep_workloads) {
    await recordLeft(item, deps, signal);
    await deps.builds?.remove(deploymentId, deps.guard, signal);
    memory.delete(deploymentId);
    return { kind: 'done' };
  }
  const found = await removeRest(item, { names, certificates }, deps, signal);
  if (found.left.length === 0) await attempt(found, namespace, () => leftPods(item, deps, signal));
  if (found.rejected || found.left.length > 0) {
    return later(await restHolds(found, item, checks, deps, signal), found.rejected);
  }
  memory.delete(deploymentId);
  return { kind: 'done' };
}
