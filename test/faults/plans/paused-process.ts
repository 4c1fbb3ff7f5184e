/** A process is paused at one of its writes until other processes have done the work, and often reverted it. */
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import { orphans } from '../oracles/orphans.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultWorld, RoleProcess } from '../world.ts';
import {
  broken,
  change,
  deleteUntilGone,
  idOf,
  imageChange,
  type RunningDeployment,
  runningDeployment,
  scaleOf,
} from './steps.ts';
import { type LateWrite, pauseAt, stallable, untilLeads } from './takeover.ts';

const SCALED = { source_config: { resource_spec: { min_scale: 1, max_scale: 3 } } };
/** The second write of this change is to the autoscaler. */
const IMAGE_AND_SCALE = {
  ...imageChange('2.0.0'),
  source_config: { resource_spec: { min_scale: 1, max_scale: 4 } },
};
/** Time for the garbage collector, and for the work that the hub hands out. */
const REMOVED_MS = 30_000;

interface Resumed {
  readonly world: FaultWorld;
  readonly deployment: Omit<RunningDeployment, 'app'>;
  readonly successor: RoleProcess | undefined;
  readonly writes: readonly LateWrite[];
}

interface Scenario {
  readonly name: string;
  readonly says: string;
  readonly role: 'operator' | 'listener';
  /** The write at which the process is paused. For `stalled`: the start of the response at which it stalls in its own code. */
  readonly at: string;
  readonly when: 'before' | 'after' | 'stalled';
  /** The change of a running deployment. Absent: the plan creates a deployment. */
  readonly change?: object;
  /** Resource spec of the running deployment. */
  readonly spec?: object;
  /** If false, no successor does the work meanwhile. */
  readonly hasSuccessor?: false;
  /** Further changes, and whether the deployment is deleted, before the process is resumed. */
  readonly later?: object;
  readonly isDeleted?: true;
  /** The process can learn only from its own clock that its lease has expired. */
  readonly isCutFromHub?: true;
  readonly recreates?: readonly string[];
  readonly judge: (resumed: Resumed) => Promise<Violation[]> | Violation[];
}

const acceptedWrites = ({ writes }: Resumed) =>
  writes
    .filter(({ isAccepted }) => isAccepted)
    .map(({ line }) => broken(`carried out for a deployment or object that no longer exists: ${line}`));
const newWrites = ({ writes }: Pick<Resumed, 'writes'>) =>
  writes.filter(({ isHeld }) => !isHeld).map(({ line }) => broken(`written by a replaced process: ${line}`));

/** The next complete inventory finds what was created too late. */
async function removedByInventory(resumed: Resumed): Promise<Violation[]> {
  const { world, deployment, successor, writes } = resumed;
  const late = writes.filter(({ isHeld, isAccepted }) => isHeld && isAccepted);
  // A new lease holder takes an inventory at once, and then every ten minutes. The next check of the tombstone is made due.
  await world.sql('UPDATE tombstones SET look_again_at = now() WHERE id = $1', [deployment.id]);
  if (successor !== undefined) {
    await world.kill(successor.name);
    await world.freeLeases(successor);
  }
  await untilLeads(world, world.process('listener'));
  const isGone = async () => (await orphans(world)).length === 0;
  await waitFor('nothing to be left', isGone, { timeoutMs: REMOVED_MS, intervalMs: 250 });
  const lines = writes.map(({ line }) => line).join(', ');
  return [
    ...(late.length === 1 ? [] : [broken(`the held write was not carried out: ${lines}`)]),
    ...newWrites(resumed),
  ];
}

const STOPPED_LISTENER = { role: 'listener', isDeleted: true } as const;

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'deletion/paused/operator-apply',
    says: 'The operator is stopped (SIGSTOP) before it applies a Deployment. All of it is deleted, then the apply is sent: rejected.',
    role: 'operator',
    at: 'apply deployments shop-x-api',
    when: 'before',
    change: imageChange('2.0.0'),
    hasSuccessor: false,
    isDeleted: true,
    judge: acceptedWrites,
  },
  {
    name: 'deletion/paused/listener-apply',
    says: 'The listener is stopped before it applies a custom resource. Another listener applies it and deletes all of it, then the apply is sent: rejected.',
    ...STOPPED_LISTENER,
    at: 'apply manageddeployments shop-x',
    when: 'before',
    change: imageChange('2.0.0'),
    judge: acceptedWrites,
  },
  ...['create secrets shop-x-env-1', 'create manageddeployments shop-x'].map((at) => ({
    name: `deletion/paused/listener-${at.replaceAll(' ', '-')}`,
    says: `The listener is stopped before its "${at}". Another listener creates all of it and deletes it, then the write is sent and carried out: the object is removed with the next complete inventory.`,
    ...STOPPED_LISTENER,
    at,
    when: 'before' as const,
    judge: removedByInventory,
  })),
  {
    name: 'two-of-each/operator/delete-of-a-former-autoscaler',
    says: 'The operator is stopped before it deletes an autoscaler. Another operator deletes it and creates another one of that name, then the delete is sent: rejected.',
    role: 'operator',
    at: 'delete horizontalpodautoscalers shop-x-api',
    when: 'before',
    spec: SCALED.source_config.resource_spec,
    change: scaleOf(2),
    later: SCALED,
    recreates: [RESOURCES.HorizontalPodAutoscaler.kind],
    judge: acceptedWrites,
  },
  ...(['after', 'stalled'] as const).flatMap((when): Scenario[] => [
    {
      name: `two-of-each/operator/${when === 'after' ? 'resumed' : 'stalled'}`,
      says: `The operator is ${when === 'after' ? 'stopped' : 'stalled in its own code'} after its apply is answered. Another operator does the rest, then it continues: it writes nothing more.`,
      role: 'operator',
      at: when === 'after' ? 'apply deployments shop-x-api' : '{"kind":"Deployment"',
      when,
      spec: SCALED.source_config.resource_spec,
      change: IMAGE_AND_SCALE,
      judge: newWrites,
    },
    {
      name: `two-of-each/listener/${when === 'after' ? 'resumed' : 'stalled'}`,
      says: `The listener is ${when === 'after' ? 'stopped' : 'stalled in its own code'} after its Secret is created. Another listener does the rest, and all is deleted. Then it continues without a connection to the hub: it writes nothing more.`,
      ...STOPPED_LISTENER,
      at: when === 'after' ? 'create secrets shop-x-env-1' : '{"kind":"Secret"',
      when,
      isCutFromHub: true,
      judge: newWrites,
    },
  ]),
];

const create = workloadNamed('create');

/** Starts the change, and resolves with its deployment. */
async function begin(
  world: FaultWorld,
  { change: what }: Scenario,
  existing: RunningDeployment | undefined,
): Promise<{ id: string }> {
  if (existing === undefined) return { id: idOf(await create.run(world, {})) };
  await change(world, existing.id, what ?? {});
  return existing;
}

async function untilWorkIsDone(
  world: FaultWorld,
  id: string,
  scenario: Scenario,
  successor: RoleProcess | undefined,
): Promise<void> {
  if (scenario.isCutFromHub) world.hub.cut(scenario.role);
  if (successor !== undefined) {
    await untilLeads(world, successor);
    await world.ready(id);
  }
  if (scenario.later !== undefined) {
    await change(world, id, scenario.later);
    await world.ready(id);
  }
  if (scenario.isDeleted) await deleteUntilGone(world, id);
  else await world.quiet({ forMs: SETTLED_MS });
}

function pausedPlan(scenario: Scenario): FaultPlan {
  const { name, says, role, at, when, spec, hasSuccessor, isCutFromHub, recreates, judge } = scenario;
  return {
    name,
    says,
    deadlineSeconds: 240,
    ...(recreates === undefined ? {} : { recreates }),
    run: async (world): Promise<Violation[]> => {
      const stall = when === 'stalled' ? await stallable(world, role) : undefined;
      const existing = scenario.change === undefined ? undefined : await runningDeployment(world, spec);
      const successor = hasSuccessor === false ? undefined : await world.start(role, `${role}-2`);
      const process = stall?.(at) ?? pauseAt(world, role, at, when === 'after' ? 'after' : 'before');
      const deployment = await begin(world, scenario, existing);
      await process.paused;
      await untilWorkIsDone(world, deployment.id, scenario, successor);
      const writes = await process.resume();
      if (isCutFromHub) world.hub.open(role);
      if (stall !== undefined) await world.restart(role);
      return await judge({ world, deployment, successor, writes });
    },
  };
}

export const pausedProcessPlans: readonly FaultPlan[] = SCENARIOS.map(pausedPlan);
