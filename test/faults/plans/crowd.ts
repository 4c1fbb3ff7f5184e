/** Very many events, and very many deployments that fail: memory is bounded, and the others do not feel it. */
import { RESOURCES } from '../../../src/kube/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import { smallDeployment } from '../../integration/harness/samples.ts';
import { insistOk } from '../insist.ts';
import type { FaultPlan, TellFigure, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, changeImage, numberFromEnvironment, serving } from './checks.ts';
import { MIB, mib, type Usage, usage } from './usage.ts';

const POD_EVENTS = numberFromEnvironment('FAULTS_POD_EVENTS', 10_000);
/** Each has some twenty objects; 1,000 take more than five minutes to make on two processors. */
const FAILING = numberFromEnvironment('FAULTS_FAILING', 60);
const HEALTHY = 5;
/** Of each healthy one, so that two of a hundred lie above the 99th percentile of all. */
const ROLLOUTS = 40;
/** The first of a deployment take longer than those after. */
const WARMING = 5;
const CLIENTS = 16;
const MOST_SLOWER = 1.5;
/**
 * A heap grows before it is collected, and what was asked of the system is not given back at once: as much as that is
 * no sign of something kept. 10,000 events that were kept, of 5 KiB each, are twice as much.
 */
const SLACK_BYTES = 24 * MIB;
/** For each deployment that is there and was not before: its objects in caches of listener and operator. */
const EACH_BYTES = MIB / 2;

function growth(before: readonly Usage[], after: readonly Usage[]): { role: string; rss: number }[] {
  return after.map(({ role, rss }) => ({
    role,
    rss: rss - (before.find((then) => then.role === role)?.rss ?? 0),
  }));
}

function checkGrowth(before: Usage[], after: Usage[], most: number, checks: Checks, tell: TellFigure): void {
  for (const { role, rss } of growth(before, after)) {
    const now = after.find((found) => found.role === role)?.rss ?? 0;
    tell(`${role}: RSS ${mib(now)}, ${rss >= 0 ? '+' : ''}${mib(rss)}`);
    checks.that(rss <= most, `${role} has grown by ${mib(rss)}, at most ${mib(most)} was expected`);
  }
}

const NUMBER = 'faults.example/number';

/** Changes annotations of pods, so that each is one event for whoever watches pods. */
async function podEvents(world: FaultWorld, pods: readonly string[], count: number): Promise<void> {
  const { namespace, admin } = world;
  let next = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (next < count) {
        const number = next;
        next += 1;
        const name = pods[number % pods.length] ?? '';
        const change = { metadata: { annotations: { [NUMBER]: String(number) } } };
        await admin.patch(RESOURCES.Pod, { namespace, name }, change, { fieldManager: 'another' });
      }
    }),
  );
}

/** Counts the changes by `podEvents` that the operator is told of by its watch. */
function countTold(world: FaultWorld): () => number {
  let told = 0;
  world.kubernetes.add({
    match: ({ client, verb, resource }) => client === 'operator' && verb === 'watch' && resource === 'pods',
    fault: {
      kind: 'filter-watch',
      drop: ({ type, object }) => {
        const { annotations } = object.metadata as { annotations?: Record<string, string> };
        if (type === 'MODIFIED' && annotations?.[NUMBER] !== undefined) told += 1;
        return false;
      },
    },
  });
  return () => told;
}

const events: FaultPlan = {
  name: 'crowd/pod-events',
  kind: 'crowd',
  alone: true,
  deadlineSeconds: 600,
  says: `${POD_EVENTS} changes of pods by ${CLIENTS} clients (FAULTS_POD_EVENTS), and as many again with an update in the middle: it is done, memory does not grow.`,
  run: async (world, tell): Promise<Violation[]> => {
    const checks = new Checks();
    const ids = await Promise.all(['one', 'two', 'three'].map((name) => serving(world, name)));
    const { items } = await world.admin.list(RESOURCES.Pod, { namespace: world.namespace });
    // Of what a rollout replaces none: they stay for the whole of it.
    const pods = items
      .filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] !== 'api')
      .map(({ metadata }) => metadata.name);
    // As many before it is measured: a heap that has had its size once is no growth, nor what is compiled at first use.
    const told = countTold(world);
    await podEvents(world, pods, POD_EVENTS);
    await world.quiet();
    const first = told();
    const before = await usage(world);
    const begun = Date.now();
    const running = podEvents(world, pods, POD_EVENTS);
    await changeImage(world, ids[0] ?? '', 'in-the-crowd');
    await world.ready(ids[0] ?? '');
    const rolled = Date.now() - begun;
    await running;
    tell(
      `${POD_EVENTS} events of pods in ${((Date.now() - begun) / 1000).toFixed(1)} s; the update among them took ${(rolled / 1000).toFixed(1)} s`,
    );
    await world.quiet();
    tell(`the operator was told of ${first} events before, and then of ${told() - first}`);
    for (const number of [first, told() - first])
      checks.that(
        number >= POD_EVENTS,
        `the operator was told of ${number} of ${POD_EVENTS} changes of pods`,
      );
    checkGrowth(before, await usage(world), SLACK_BYTES, checks, tell);
    return checks.violations;
  },
};

/** Milliseconds from the request to READY of each change: one after another of each healthy one, these side by side. */
async function rollouts(
  world: FaultWorld,
  ids: readonly string[],
  prefix: string,
  each = ROLLOUTS,
): Promise<number[]> {
  const took: number[] = [];
  await Promise.all(
    ids.map(async (id) => {
      for (let number = 0; number < each; number += 1) {
        const from = performance.now();
        await changeImage(world, id, `${prefix}-${number}`);
        await world.ready(id);
        took.push(performance.now() - from);
      }
    }),
  );
  return took;
}

/** By nearest rank. */
function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}

/** Without marks of another manager (O7): those are on the healthy ones. */
async function makeFailing(world: FaultWorld): Promise<string[]> {
  const names = Array.from({ length: FAILING }, (_, index) => `failing-${index}`);
  const ids: string[] = [];
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let name = names.pop(); name !== undefined; name = names.pop()) {
        const body = smallDeployment(name, { image: 'registry.example/shop/web:fail-crash-loop' });
        ids.push((await insistOk(world, 'POST', '/v2/deployments', body)).id);
      }
    }),
  );
  return ids;
}

const FAILED = `SELECT count(*)::int AS failed FROM revisions WHERE status = 'DEPLOY_FAILED'`;

const failing: FaultPlan = {
  name: 'crowd/failing',
  kind: 'crowd',
  alone: true,
  deadlineSeconds: 1800,
  says: `${FAILING} deployments in a crash loop (FAULTS_FAILING) beside ${HEALTHY} healthy ones: p99 of ${HEALTHY * ROLLOUTS} rollouts of these at most ${MOST_SLOWER} times that without, memory bounded.`,
  run: async (world, tell): Promise<Violation[]> => {
    const checks = new Checks();
    const names = Array.from({ length: HEALTHY }, (_, index) => `healthy-${index}`);
    const ids = await Promise.all(names.map((name) => serving(world, name)));
    await rollouts(world, ids, 'warm', WARMING);
    const without = await rollouts(world, ids, 'without');
    const before = await usage(world);
    await makeFailing(world);
    await waitFor(
      'all to have failed',
      async () => (await world.sql<{ failed: number }>(FAILED))[0]?.failed === FAILING,
      { timeoutMs: 900_000, intervalMs: 500 },
    );
    const beside = await rollouts(world, ids, 'beside');
    const [alone, crowded] = [without, beside].map((values) => percentile(values, 0.99));
    const [p50, crowded50] = [without, beside].map((values) => percentile(values, 0.5));
    tell(
      `${HEALTHY * ROLLOUTS} rollouts of ${HEALTHY} healthy ones side by side: p50 ${Math.round(p50 ?? 0)} ms, p99 ${Math.round(alone ?? 0)} ms; beside ${FAILING} that fail p50 ${Math.round(crowded50 ?? 0)} ms, p99 ${Math.round(crowded ?? 0)} ms`,
    );
    checks.that(
      (crowded ?? 0) <= MOST_SLOWER * (alone ?? 0),
      `p99 is ${Math.round(crowded ?? 0)} ms beside ${FAILING} that fail, ${Math.round(alone ?? 0)} ms without`,
    );
    checkGrowth(before, await usage(world), SLACK_BYTES + FAILING * EACH_BYTES, checks, tell);
    return checks.violations;
  },
};

export const crowdPlans: readonly FaultPlan[] = [events, failing];
