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

/** Longer than anything takes that simulated nodes, volumes and the cluster's own controllers do, on a slow machine. */
export const SETTLE_MS = 90_000;
const LOOK_MS = 200;

export interface Settled {
  readonly deployment: WalkDeployment;
  readonly latest: WalkRevision;
  readonly resource: ManagedDeployment;
  readonly how: 'ready' | 'off' | 'failed';
}

/** What was seen when the time was over. */
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

/** The operator has seen the hub's latest generation, and has said what it makes of it. */
function isSeen(deployment: WalkDeployment, { metadata, spec, status }: ManagedDeployment): boolean {
  return (
    spec.recordGeneration === deployment.generation && status?.observedGeneration === metadata.generation
  );
}

/** How it has ended; null: not yet, or as nothing gave it a reason to. */
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
  // A change in place that was taken back has to come up, as everything else without a reason to fail.
  if (!mayFail || !(failed || failingImage(recordOf(deployment)) !== null)) return null;
  const told = condition(conditions, 'Progressing') === condition(status?.conditions, 'Progressing');
  const ended = failed || latest.status === 'DEPLOYED';
  const turned = condition(status?.conditions, 'Progressing').startsWith('False ');
  const pending = condition(status?.conditions, 'Ready') === 'False Reconciling';
  return told && ended && turned && !pending ? 'failed' : null;
}

/**
 * @param excused the revision that may fail: while it was the latest, since it last was well, its pods could not come up
 * @param onLook hears of each look: what is only passing is to be seen, too
 * @throws StuckError
 */
export async function settle(
  world: WalkWorld,
  id: string,
  excused: string | null,
  onLook: (deployment: WalkDeployment) => void,
  signal: AbortSignal,
): Promise<Settled> {
  const deadline = Date.now() + SETTLE_MS;
  let deployment: WalkDeployment | undefined;
  let resource: ManagedDeployment | undefined;
  while (Date.now() < deadline) {
    signal.throwIfAborted();
    deployment = await getDeployment(world, id);
    onLook(deployment);
    resource = await resourceOf(world, id);
    if (resource !== undefined && isSeen(deployment, resource)) {
      const latest = await getRevision(world, id, deployment.latest_revision_id);
      const how = howSettled(deployment, latest, resource, excused);
      if (how !== null) return { deployment, latest, resource, how };
    }
    await delay(LOOK_MS, undefined, { signal });
  }
  throw new StuckError(deployment, resource);
}

/**
 * Looks until nothing is wrong any more: tidying, and what the cluster's own controllers do, takes a moment.
 * @returns what is still wrong when the time is over
 */
export async function untilRight(look: () => Promise<string[]>, signal: AbortSignal): Promise<string[]> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const wrong = await look();
    if (wrong.length === 0 || Date.now() > deadline) return wrong;
    await delay(LOOK_MS, undefined, { signal });
  }
}

/** What is left over of a deployment that has settled; what is still tidied may take a moment. */
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
  return diff.length === 0 ? [] : [{ message: 'something is left over', diff }];
}
