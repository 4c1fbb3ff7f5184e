/** The state of a fresh deployment with the same record. */
import { domainsOf } from '../../../src/domain/app-hosts/domains.ts';
import {
  createDeployment,
  deleteDeployment,
  getDeployment,
  recordOf,
  type WalkDeployment,
} from './answers.ts';
import { clusterState } from './cluster-state.ts';
import type { Issue } from './effects.ts';
import type { LaneIdentity, WalkRecord } from './record.ts';
import { settle, untilRight } from './settle.ts';
import { differencesOf, type Reached } from './state-checks.ts';
import type { WalkWorld } from './world.ts';

/** The same record with other hosts, because two deployments cannot have the same one. */
function directRecord(record: WalkRecord): WalkRecord {
  const { customUrl, domains } = record;
  return {
    ...record,
    customUrl: customUrl?.replace('https://', 'https://direct-') ?? null,
    ...domainsOf({ domains: domains?.map((host) => `direct-${host}`) }),
  };
}

async function reached(world: WalkWorld, id: string): Promise<Reached> {
  const [deployment, state] = await Promise.all([getDeployment(world, id), clusterState(world, id)]);
  return { deployment, state };
}

/** Deletes a deployment, and reports the objects that are left. */
export async function removalIssues(world: WalkWorld, id: string, signal: AbortSignal): Promise<Issue[]> {
  const { status, body } = await deleteDeployment(world, id);
  if (status !== 204) return [{ message: `DELETE: ${status} ${JSON.stringify(body)}`, diff: [] }];
  const left = await untilRight(async () => {
    const state = await clusterState(world, id);
    return Object.entries(state).flatMap(([kind, objects]) =>
      objects.map(({ metadata }) => `${kind}/${metadata.name}`),
    );
  }, signal);
  return left.length === 0 ? [] : [{ message: `objects of ${id} are left after its deletion`, diff: left }];
}

/**
 * Creates a deployment with the record of the walked one, waits until it is ready, compares and deletes it.
 * @throws StuckError if it does not become ready
 */
export async function directIssues(
  world: WalkWorld,
  walked: WalkDeployment,
  { name, identity }: { readonly name: string; readonly identity: LaneIdentity },
  signal: AbortSignal,
): Promise<{ readonly differs: Issue[]; readonly leaves: Issue[] }> {
  const { id } = await createDeployment(world, name, identity, directRecord(recordOf(walked)));
  try {
    await settle(world, id, null, () => {}, signal);
    const diff = await untilRight(
      async () => differencesOf(await reached(world, walked.id), await reached(world, id)),
      signal,
    );
    const message = 'the state differs from that of a fresh deployment';
    const leaves = await removalIssues(world, id, signal);
    return { differs: diff.length === 0 ? [] : [{ message, diff }], leaves };
  } catch (error) {
    await deleteDeployment(world, id);
    throw error;
  }
}
