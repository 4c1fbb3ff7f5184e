/** A role is asked to end in the middle of its work: it brings it to an end, gives its lease back, and is replaced at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../cluster/wait.ts';
import { hubEffect, kubernetesEffect, Transactions } from '../effects.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld, RoleProcess } from '../world.ts';
import { Checks, imageChange, prepared } from './steps.ts';
import { isHeldBy, leaderOf } from './takeover.ts';

const EXIT_WITHIN_MS = 10_000;
const SUCCESSOR_WITHIN_MS = 2_000;
/** What is under way takes so long after the signal. */
const UNDER_WAY_MS = 1_500;
const LOOK_MS = 20;
/** What the API has answered before its end is read by then. */
const ANSWERED_WITHIN_MS = 2_000;

/** Ends it as Kubernetes does, and looks how it ends. */
async function end(running: RoleProcess, checks: Checks): Promise<number> {
  const from = performance.now();
  running.signal('SIGTERM');
  const late = sleep(2 * EXIT_WITHIN_MS).then(() => undefined);
  const ended = await Promise.race([running.ended, late]);
  const took = performance.now() - from;
  checks.that(
    ended !== undefined && took <= EXIT_WITHIN_MS,
    `${running.name} ended after ${Math.round(took)} ms`,
  );
  checks.that(ended?.code === 0, `${running.name} ended with ${ended?.code ?? ended?.signal}`);
  return took;
}

/** Milliseconds until the successor leads. */
async function untilReplaced(world: FaultWorld, successor: RoleProcess): Promise<number> {
  const from = performance.now();
  await waitFor(
    `${successor.name} to lead`,
    async () => isHeldBy(await leaderOf(world, successor.role), successor) || undefined,
    { timeoutMs: 30_000, intervalMs: LOOK_MS },
  );
  return performance.now() - from;
}

/** Which write of the role is held up, by which the process is in the middle of its work. */
const AT: Readonly<Record<'listener' | 'operator', string>> = {
  listener: 'apply manageddeployments shop-x',
  operator: 'apply deployments shop-x-api',
};

/** Resolves when the role is in the middle of its write. */
function inTheMiddle(world: FaultWorld, role: FaultRole, what: string): Promise<void> {
  const rule = world.kubernetes.add({
    match: (request) => request.client === role && kubernetesEffect(request) === what,
    fault: { kind: 'delay', ms: UNDER_WAY_MS },
    times: 1,
  });
  return rule.waitTaken();
}

function leader(role: 'listener' | 'operator', busy: boolean): FaultPlan {
  const workload = workloadNamed('update');
  return {
    name: `sigterm/${role}/${busy ? 'busy' : 'idle'}`,
    says: `The ${role} gets SIGTERM ${busy ? `with its "${AT[role]}" under way` : 'with nothing to do'}: it drains, releases its lease and exits with 0 within 10 s, and its successor leads within 2 s.`,
    like: workload,
    run: async (world, tell): Promise<Violation[]> => {
      const checks = new Checks();
      const given = await workload.prepare(world);
      const successor = await world.start(role, `${role}-2`);
      await world.quiet({ forMs: SETTLED_MS });
      const running = world.process(role);
      const middle = busy ? inTheMiddle(world, role, AT[role]) : Promise.resolve();
      const changed = workload.run(world, given);
      if (!busy) await workload.end(world, await changed);
      await middle;
      const took = await end(running, checks);
      const replaced = await untilReplaced(world, successor);
      tell(`ended after ${Math.round(took)} ms, replaced ${Math.round(replaced)} ms later`);
      checks.that(replaced <= SUCCESSOR_WITHIN_MS, `the successor led after ${Math.round(replaced)} ms`);
      const cut = world.kubernetes
        .exchanges(role)
        .filter((exchange) => kubernetesEffect(exchange) === AT[role] && exchange.status === 0);
      checks.that(cut.length === 0, `${cut.length} writes under way were broken off`);
      await workload.end(world, await changed);
      return checks.violations;
    },
  };
}

/** Holds the COMMIT of a change for a while; resolves when it is held. */
function slowCommit(world: FaultWorld): Promise<void> {
  const transactions = new Transactions();
  const rule = world.postgres.add({
    match: (message) =>
      message.client === 'api' && transactions.commits(message)?.startsWith('commit deployments') === true,
    fault: { kind: 'delay', ms: UNDER_WAY_MS },
    times: 1,
  });
  return rule.waitTaken();
}

const api: FaultPlan = {
  name: 'sigterm/api/busy',
  says: 'The API gets SIGTERM with a change before its COMMIT and the listener waiting for work: the change is answered, exit 0 within 10 s.',
  like: workloadNamed('update'),
  run: async (world, tell): Promise<Violation[]> => {
    const checks = new Checks();
    const workload = workloadNamed('update');
    const given = await prepared(world, workload);
    const held = slowCommit(world);
    const changed = workload.run(world, given);
    await held;
    tell(`ended after ${Math.round(await end(world.process('api'), checks))} ms`);
    const answered = await Promise.race([changed.then(() => true), sleep(ANSWERED_WITHIN_MS, false)]);
    checks.that(answered, 'the change that was under way was not answered');
    const refused = await world
      .call('PATCH', `/v2/deployments/${given.id}`, imageChange('gone'))
      .catch(() => null);
    checks.that(refused === null, `a call of the API that has ended was answered ${refused?.status}`);
    await world.restart('api');
    await workload.end(world, await changed);
    return checks.violations;
  },
};

const apiIdle: FaultPlan = {
  name: 'sigterm/api/idle',
  says: 'The API gets SIGTERM while only the listener waits for work: exit 0 within 10 s, and its successor accepts the next change.',
  like: workloadNamed('update'),
  run: async (world, tell): Promise<Violation[]> => {
    const checks = new Checks();
    const workload = workloadNamed('update');
    const given = await prepared(world, workload);
    tell(`ended after ${Math.round(await end(world.process('api'), checks))} ms`);
    await world.restart('api');
    await workload.end(world, await workload.run(world, given));
    return checks.violations;
  },
};

const reporting: FaultPlan = {
  name: 'sigterm/listener/reporting',
  says: 'The listener gets SIGTERM while it sends a report: the report is completed, exit 0 within 10 s, and no report is lost or repeated.',
  like: workloadNamed('update'),
  run: async (world, tell): Promise<Violation[]> => {
    const checks = new Checks();
    const workload = workloadNamed('update');
    const given = await prepared(world, workload);
    const rule = world.hub.add({
      match: (request) => hubEffect(request) === 'post reports',
      fault: { kind: 'delay', ms: UNDER_WAY_MS },
      times: 1,
    });
    const changed = workload.run(world, given);
    await rule.waitTaken();
    tell(`ended after ${Math.round(await end(world.process('listener'), checks))} ms`);
    await world.restart('listener');
    await workload.end(world, await changed);
    return checks.violations;
  },
};

export const sigtermPlans: readonly FaultPlan[] = [
  api,
  apiIdle,
  reporting,
  ...(['listener', 'operator'] as const).flatMap((role) => [leader(role, true), leader(role, false)]),
];
