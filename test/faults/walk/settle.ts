/** Waits until a deployment has settled, and finds what is left over then. */

import { setTimeout as delay } from 'node:timers/promises';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { getDeployment, getRevision, recordOf, type WalkDeployment, type WalkRevision } from './answers.ts';
import { clusterState } from './cluster-state.ts';
import type { Issue } from './effects.ts';
import { failingImage, isSwitchedOff } from './record.ts';
import { leftovers, otherRevisions, surplusPods } from './state-checks.ts';
import type { WalkWorld } from './world.ts';

/** Longer than simulated nodes, volumes and controllers of the cluster need on a slow machine. */
export const SETTLE_MS = 90_000;
const POLL_MS = 200;

/** A deployment that has settled. */
export interface Settled {
  readonly deployment: WalkDeployment;
  readonly latest: WalkRevision;
  readonly resource: ManagedDeployment;
  readonly how: 'ready' | 'off' | 'failed';
}

/** A deployment did not settle in time. The message contains its last state. */
export class StuckError extends Error {
  readonly deployment: WalkDeployment | undefined;
  constructor(deployment: WalkDeployment | undefined, resource: ManagedDeployment | undefined) {
    const shown = {
      deployment: deployment && { ...deployment, source_config: undefined },
      status: resource?.status,
    };
    super(`did not settle within ${SETTLE_MS / 1000} s: ${JSON.stringify(shown)}`);
    this.deployment = deployment;
  }
}

/** The custom resource of a deployment. */
async function resourceOf(
  { admin, namespace }: WalkWorld,
  id: string,
): Promise<ManagedDeployment | undefined> {
  const labelSelector = `${LABELS.deploymentId}=${id}`;
  const { items } = await admin.listAll(RESOURCES.ManagedDeployment, { namespace, labelSelector });
  return items[0] as unknown as ManagedDeployment | undefined;
}

type Conditions = readonly { readonly type: string; readonly status: string; readonly reason: string }[];

function condition(conditions: Conditions | undefined, type: string): string {
  const found = conditions?.find((candidate) => candidate.type === type);
  return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
}

/** Whether the operator has observed the hub's latest generation. */
function isSeen(deployment: WalkDeployment, { metadata, spec, status }: ManagedDeployment): boolean {
  return (
    spec.recordGeneration === deployment.generation && status?.observedGeneration === metadata.generation
  );
}

/** How the deployment has settled. Null if it has not, or if it failed although it must not fail. */
export function howSettled(
  deployment: WalkDeployment,
  latest: WalkRevision,
  { status }: Pick<ManagedDeployment, 'status'>,
  excused: string | null,
): Settled['how'] | null {
  const { conditions, remote_reconciled: reconciled } = deployment;
  const ready = condition(conditions, 'Ready');
  const failed = latest.status === 'DEPLOY_FAILED';
  const mayFail = excused === latest.id;
  if (isSwitchedOff(recordOf(deployment))) {
    const off = deployment.status === 'UNUSED' && reconciled && ready === 'True SwitchedOff';
    return off && (mayFail || !failed) ? 'off' : null;
  }
  const isActive = deployment.active_revision_id === deployment.latest_revision_id;
  if (deployment.status === 'READY' && reconciled && isActive && ready === 'True Converged') {
    return latest.status === 'DEPLOYED' ? 'ready' : null;
  }
  // After a change in place was rolled back, the deployment must become ready, like all others without a reason to fail.
  if (!mayFail || !(failed || failingImage(recordOf(deployment)) !== null)) return null;
  const isReported = condition(conditions, 'Progressing') === condition(status?.conditions, 'Progressing');
  const ended = failed || latest.status === 'DEPLOYED';
  const isNotProgressing = condition(status?.conditions, 'Progressing').startsWith('False ');
  const pending = condition(status?.conditions, 'Ready') === 'False Reconciling';
  return isReported && ended && isNotProgressing && !pending ? 'failed' : null;
}

/**
 * Polls until the deployment has settled.
 * @param excused id of the revision that may fail, because it had a failing image since the deployment was last ready
 * @param onPoll gets each polled state, to find states that exist only for a short time
 * @throws StuckError after `SETTLE_MS`
 */
export async function settle(
  world: WalkWorld,
  id: string,
  excused: string | null,
  onPoll: (deployment: WalkDeployment) => void,
  signal: AbortSignal,
): Promise<Settled> {
  const deadline = Date.now() + SETTLE_MS;
  let deployment: WalkDeployment | undefined;
  let resource: ManagedDeployment | undefined;
  while (Date.now() < deadline) {
    signal.throwIfAborted();
    deployment = await getDeployment(world, id);
    onPoll(deployment);
    resource = await resourceOf(world, id);
    if (resource !== undefined && isSeen(deployment, resource)) {
      const latest = await getRevision(world, id, deployment.latest_revision_id);
      const how = howSettled(deployment, latest, resource, excused);
      if (how !== null) return { deployment, latest, resource, how };
    }
    await delay(POLL_MS, undefined, { signal });
  }
  throw new StuckError(deployment, resource);
}

/**
 * Polls until `check` returns no problems, because cleanup and controllers of the cluster take a moment.
 * @returns the problems that remain after `SETTLE_MS`
 */
export async function untilRight(check: () => Promise<string[]>, signal: AbortSignal): Promise<string[]> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const wrong = await check();
    if (wrong.length === 0 || Date.now() > deadline) return wrong;
    await delay(POLL_MS, undefined, { signal });
  }
}

/** Objects that are left over after the deployment has settled. */
export async function leftOver(
  world: WalkWorld,
  { how, deployment }: Pick<Settled, 'how' | 'deployment'>,
  signal: AbortSignal,
): Promise<Issue[]> {
  const diff = await untilRight(async () => {
    const state = await clusterState(world, deployment.id);
    const wrong = how === 'failed' ? otherRevisions(state, deployment) : surplusPods(state);
    return [...leftovers(state), ...wrong];
  }, signal);
  return diff.length === 0 ? [] : [{ message: 'objects are left over', diff }];
}
