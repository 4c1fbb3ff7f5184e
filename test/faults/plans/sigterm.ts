/** A role gets SIGTERM during its work or while idle: it completes the work, releases its lease, and is replaced at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { hubEffect, kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Given, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld, RoleProcess } from '../world.ts';
import { commitsDeployments } from './postgres-changes.ts';
import { Checks, imageChange } from './steps.ts';
import { untilLeads } from './takeover.ts';

const EXIT_WITHIN_MS = 10_000;
const SUCCESSOR_WITHIN_MS = 2_000;
/** Delay of the work in progress. */
const DELAY_MS = 1_500;
/** A response that the API sent before its end arrives within this time. */
const ANSWERED_WITHIN_MS = 2_000;

const DELAYED = { fault: { kind: 'delay', ms: DELAY_MS }, times: 1 } as const;
const delayWrite = (role: FaultRole, what: string) => (world: FaultWorld) =>
  world.kubernetes
    .add({
      ...DELAYED,
      match: (request) => request.client === role && kubernetesEffect(request) === what,
    })
    .waitTaken();
const WRITES = { listener: 'apply manageddeployments shop-x', operator: 'apply deployments shop-x-api' };

interface Stop {
  readonly role: FaultRole;
  readonly at: 'busy' | 'idle' | 'reporting';
  readonly says: string;
  /** Delays the work in progress, and resolves when it has begun. Absent: the change comes after SIGTERM. */
  readonly delay?: (world: FaultWorld) => Promise<void>;
  /** A second process of the role runs before SIGTERM. */
  readonly hasSuccessor?: true;
}

const STOPS: readonly Stop[] = [
  {
    role: 'api',
    at: 'busy',
    says: 'with a change before its COMMIT: the change is answered',
    delay: (world) => world.postgres.add({ ...DELAYED, match: commitsDeployments() }).waitTaken(),
  },
  { role: 'api', at: 'idle', says: 'while only the listener waits for work' },
  {
    role: 'listener',
    at: 'reporting',
    says: 'while it sends a report: no report is lost or repeated',
    delay: (world) =>
      world.hub.add({ ...DELAYED, match: (call) => hubEffect(call) === 'post reports' }).waitTaken(),
  },
  ...(['listener', 'operator'] as const).flatMap((role): Stop[] => [
    {
      role,
      at: 'busy',
      says: `with its "${WRITES[role]}" in progress: it drains, and its successor leads within 2 s`,
      delay: delayWrite(role, WRITES[role]),
      hasSuccessor: true,
    },
    { role, at: 'idle', says: 'while idle: its successor leads within 2 s', hasSuccessor: true },
  ]),
];

/** Ends the process as Kubernetes does. Returns the time in milliseconds. */
async function end(running: RoleProcess, checks: Checks): Promise<number> {
  const from = performance.now();
  running.signal('SIGTERM');
  const late = sleep(2 * EXIT_WITHIN_MS).then(() => undefined);
  const ended = await Promise.race([running.ended, late]);
  const took = Math.round(performance.now() - from);
  checks.that(ended !== undefined && took <= EXIT_WITHIN_MS, `${running.name} ended after ${took} ms`);
  checks.that(ended?.code === 0, `${running.name} ended with ${ended?.code ?? ended?.signal}`);
  return took;
}

/** The change in progress was answered, and the API accepts no further one. */
async function checkApi(
  world: FaultWorld,
  { id }: Given,
  changing: Promise<unknown>,
  checks: Checks,
): Promise<void> {
  const answered = await Promise.race([changing.then(() => true), sleep(ANSWERED_WITHIN_MS, false)]);
  checks.that(answered, 'the change in progress was not answered');
  const call = world.call('PATCH', `/v2/deployments/${id}`, imageChange('gone'));
  const rejected = await call.catch(() => null);
  checks.that(rejected === null, `a call of the ended API was answered ${rejected?.status}`);
}

/** Returns the milliseconds until the successor leads. */
async function checkSuccessor(world: FaultWorld, successor: RoleProcess, checks: Checks): Promise<number> {
  const from = performance.now();
  await untilLeads(world, successor, { timeoutMs: 30_000, intervalMs: 20 });
  const took = Math.round(performance.now() - from);
  checks.that(took <= SUCCESSOR_WITHIN_MS, `the successor led after ${took} ms`);
  const { role } = successor;
  const cut = world.kubernetes
    .exchanges(role)
    .filter((exchange) => exchange.status === 0)
    .filter((exchange) => role !== 'api' && kubernetesEffect(exchange) === WRITES[role]);
  checks.that(cut.length === 0, `${cut.length} writes in progress were cut`);
  return took;
}

function stopPlan({ role, at, says, delay, hasSuccessor }: Stop): FaultPlan {
  const workload = workloadNamed('update');
  return {
    name: `sigterm/${role}/${at}`,
    says: `The ${role} gets SIGTERM ${says}, and it exits with 0 within 10 s.`,
    like: workload,
    run: async (world, addFigure): Promise<Violation[]> => {
      const checks = new Checks();
      const given = await workload.prepare(world);
      const successor = hasSuccessor ? await world.start(role, `${role}-2`) : undefined;
      await world.quiet({ forMs: SETTLED_MS });
      const delayed = delay?.(world);
      const changing = delayed === undefined ? undefined : workload.run(world, given);
      await delayed;
      const took = await end(world.process(role), checks);
      if (role === 'api' && changing !== undefined) await checkApi(world, given, changing, checks);
      if (successor === undefined) {
        await world.restart(role);
        addFigure(`ended after ${took} ms`);
      } else {
        const replaced = await checkSuccessor(world, successor, checks);
        addFigure(`ended after ${took} ms, replaced ${replaced} ms later`);
      }
      await workload.end(world, await (changing ?? workload.run(world, given)));
      return checks.violations;
    },
  };
}

export const sigtermPlans: readonly FaultPlan[] = STOPS.map(stopPlan);
