/** Two processes of a role: a resumed candidate, two API processes on one database, and wrong clocks. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { berthClient } from '../../integration/harness/berth-setup.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, RoleProcess } from '../world.ts';
import { replacedProcessPlans } from './replaced-process.ts';
import { broken, Checks, imageChange, imageOf, runningDeployment, serving, within } from './steps.ts';
import { isHeldBy, leaderOf, untilLeads } from './takeover.ts';

const SHIFTED_CLOCK = fileURLToPath(new URL('../preload/shifted-clock.ts', import.meta.url));
const HOUR_MS = 3_600_000;
/** Longer than any lease. A candidate that trusted its own clock would have taken the lease before. */
const PAST_LEASE_MS = 25_000;

const shiftedBy = (ms: number) => ({
  NODE_OPTIONS: `--import=${SHIFTED_CLOCK}`,
  FAULTS_CLOCK_SHIFT_MS: String(ms),
});
const nameOf = (ms: number) => (ms > 0 ? 'hour-ahead' : 'hour-behind');

/** An hour, minus the time since the role has written its last log line. */
const WRONG_BY_MS = 3_500_000;

/** How far the clock of a process is ahead, according to its log, in milliseconds. @throws Error if its log is empty */
function aheadMs(started: RoleProcess): number {
  const { time } = started.log().at(-1) ?? {};
  const at = Date.parse(String(time));
  if (Number.isNaN(at))
    throw new Error(`failed to read the clock of ${started.name}: it logs ${String(time)}`);
  return at - Date.now();
}

/** Checks that the clock is really wrong. Otherwise the plan proves nothing. */
function checkClock(started: RoleProcess, ms: number, checks: Checks): void {
  const ahead = aheadMs(started);
  checks.that(
    ahead * Math.sign(ms) >= WRONG_BY_MS,
    `the clock of ${started.name} is ${Math.round(ahead / 1000)} s ahead, not ${ms / 1000} s`,
  );
}

/** Runs a role with a wrong clock, and then again with the correct one. */
function wrongClock(role: FaultRole, ms: number): FaultPlan {
  const workload = workloadNamed('update');
  return {
    name: `two-of-each/clock/${role}-${nameOf(ms)}`,
    says: `The clock of the ${role} is an ${nameOf(ms).replace('-', ' ')} during an update, and correct after a restart.`,
    like: workload,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const given = await workload.prepare(world);
      checkClock(await world.restart(role, { settings: shiftedBy(ms) }), ms, checks);
      await world.quiet({ forMs: SETTLED_MS });
      await workload.end(world, await workload.run(world, given));
      const right = await world.restart(role);
      checks.that(
        Math.abs(aheadMs(right)) < WRONG_BY_MS,
        `the clock of the ${role} is still wrong after a restart`,
      );
      await workload.end(world, given);
      return checks.violations;
    },
  };
}

/** A candidate whose clock says that every lease has expired, or that no lease ever expires. */
function candidate(role: 'operator' | 'listener', ms: number): FaultPlan {
  return {
    name: `two-of-each/clock/${role}-candidate-${nameOf(ms)}`,
    says: `A second ${role} with its clock an ${nameOf(ms).replace('-', ' ')} does not take the lease of a running ${role}, and takes it after that one is killed.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const id = await serving(world, 'shop');
      const leader = world.process(role);
      const other = await world.start(role, `${role}-2`, { settings: shiftedBy(ms) });
      checkClock(other, ms, checks);
      const before = await leaderOf(world, role);
      checks.that(isHeldBy(before, leader), `${before} leads, not ${leader.name}`);
      await sleep(PAST_LEASE_MS);
      const after = await leaderOf(world, role);
      checks.that(after === before, `${after} has taken the lease of ${before}, which still runs`);
      await world.kill(role);
      await untilLeads(world, other);
      await world.call('PATCH', `/v2/deployments/${id}`, imageChange('successor'));
      await world.ready(id);
      await untilSettled(world.start(role));
      return checks.violations;
    },
  };
}

/** Waits until a role has started and settled, because the oracles need running roles. */
async function untilSettled(started: Promise<RoleProcess>): Promise<void> {
  await started;
  await sleep(SETTLED_MS);
}

interface Started {
  readonly url?: string;
}

const CALLS = 24;
/** Closes each connection after its call. Otherwise these many connections would count as a leak of the API (O8). */
const CLOSE = { connection: 'close' };

const spread: FaultPlan = {
  name: 'two-of-each/api/spread',
  says: `Two API processes share a database: ${CALLS} changes of two deployments alternate between them, both get the same name and the same Idempotency-Key at once, and one is killed.`,
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const second = await world.start('api', 'api-2');
    const { url = '' } = second.log().find(({ msg }) => msg === 'berth is ready') as Started;
    const other = berthClient(world.apiKey, () => url);
    const ids = await Promise.all(['one', 'two'].map((name) => serving(world, name)));
    const calls = Array.from({ length: CALLS }, (_, index) => {
      const id = ids[index % 2] ?? '';
      const { call } = index % 4 < 2 ? world : other;
      return call('PATCH', `/v2/deployments/${id}`, imageChange(`spread-${index}`), CLOSE);
    });
    for (const [index, { status }] of (await Promise.all(calls)).entries())
      checks.that(status === 200, `change ${index} got the status ${status}`);
    for (const [which, id] of ids.entries()) {
      const rows = await world.sql<{ image: string }>(
        `SELECT source_revision_config->>'image_uri' AS image FROM revisions WHERE deployment_id = $1 AND number > 1`,
        [id],
      );
      const wanted = Array.from({ length: CALLS }, (_, n) => n).filter((n) => n % 2 === which);
      const missing = wanted
        .map((n) => imageOf(`spread-${n}`))
        .filter((i) => !rows.some((r) => r.image === i));
      checks.none('lost', missing);
      checks.that(rows.length === wanted.length, `${rows.length} revisions for ${wanted.length} changes`);
      await world.ready(id);
    }
    const named = await Promise.all(
      [world, other].map(({ call }) => call('POST', '/v2/deployments', smallDeployment('both'), CLOSE)),
    );
    const statuses = named.map(({ status }) => status).sort();
    checks.that(statuses.join() === '201,409', `two POSTs with one name got ${statuses.join()}`);
    const headers = { ...CLOSE, 'idempotency-key': randomUUID() };
    const keyed = await Promise.all(
      [world, other].map(({ call }) => call('POST', '/v2/deployments', smallDeployment('keyed'), headers)),
    );
    const made = await world.sql(`SELECT id FROM deployments WHERE name = 'keyed'`);
    checks.that(made.length === 1, `two POSTs with one Idempotency-Key created ${made.length} deployments`);
    const rejected = keyed.map(({ status }) => status).filter((status) => status !== 201 && status !== 409);
    checks.that(rejected.length === 0, `two POSTs with one Idempotency-Key got ${rejected.join()}`);
    // The listener waits at the first API process. It must learn of a change that the second one makes.
    const change = await other.call('PATCH', `/v2/deployments/${ids[0]}`, imageChange('heard'));
    checks.that(change.status === 200, `the second API returned ${change.status}`);
    await world.kill('api-2');
    await Promise.all(ids.map((id) => world.ready(id)));
    return checks.violations;
  },
};

/**
 * Calls after which a resumed operator has tried its old version of the lease, and has read the lease twice. It makes
 * them within seconds.
 */
const LEASE_CALLS = 3;
const CALLED_WITHIN_S = 30;

const resumedCandidate: FaultPlan = {
  name: 'two-of-each/operator/lease-of-the-successor',
  says: 'The operator is stopped until another operator leads, and then continues: it does not write the lease, and the other one keeps it.',
  run: async (world): Promise<Violation[]> => {
    await runningDeployment(world);
    const successor = await world.start('operator', 'operator-2');
    const former = world.process('operator');
    former.signal('SIGSTOP');
    await untilLeads(world, successor);
    const from = Date.now();
    former.signal('SIGCONT');
    const leaseCalls = () =>
      world.kubernetes
        .exchanges('operator')
        .filter(
          ({ resource, at, upstreamStatus }) => resource === 'leases' && at >= from && upstreamStatus > 0,
        );
    const missed = await within(
      CALLED_WITHIN_S,
      `the resumed operator to make ${LEASE_CALLS} calls for the lease`,
      async () => leaseCalls().length >= LEASE_CALLS,
    );
    const taken = leaseCalls().filter(
      ({ verb, upstreamStatus }) => verb === 'update' && upstreamStatus === 200,
    );
    const leader = await leaderOf(world, 'operator');
    return [
      ...missed,
      ...taken.map(() => broken('a replaced process has written the lease of its live successor')),
      ...(isHeldBy(leader, successor) ? [] : [broken(`${leader} leads, not ${successor.name}`)]),
    ];
  },
};

export const secondProcessPlans: readonly FaultPlan[] = [
  ...replacedProcessPlans,
  spread,
  resumedCandidate,
  ...(['api', 'listener', 'operator'] as const).flatMap((role) => [
    wrongClock(role, HOUR_MS),
    wrongClock(role, -HOUR_MS),
  ]),
  ...(['listener', 'operator'] as const).flatMap((role) => [
    candidate(role, HOUR_MS),
    candidate(role, -HOUR_MS),
  ]),
];
