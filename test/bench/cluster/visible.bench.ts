import { setTimeout as sleep } from 'node:timers/promises';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import type { Bench, Measure, Sample } from '../bench.ts';
import { summarise } from '../statistics.ts';
import { Apps, isApi, isAvailable, isSettled, type SeenApp } from './apps.ts';
import { type BenchRole, type ClusterBerth, ROLES } from './berth.ts';
import { MACHINE_COSTS, ROLE_COSTS, withCosts } from './costs.ts';
import { patience } from './fill.ts';
import { percentiles } from './latencies.ts';
import { nameLike, openStage } from './playing.ts';
import { upTo, whenAsked } from './recording.ts';
import { bodyAlone } from './samples.ts';
import { besideNothing, inOwnWorld, recordingOf, WARM } from './sides.ts';

const DEPLOYMENTS = 30;
const RATE = 20;
const POLL_MS = 5;
/** Pause after an idle deployment is ready, for its last Events. */
const PAUSE_MS = 100;
const MS = 1000;
const BUSY = 'busy ';

/** Costs until the Deployment of the last busy deployment is visible. They show whether the processors are fully used. */
const BUSY_COSTS: readonly Measure[] = [...ROLE_COSTS, ...MACHINE_COSTS].map(({ name, ...measure }) => ({
  ...measure,
  name: `${BUSY}${name}`,
}));

export const bench: Bench = {
  name: 'visible',
  what: `Time from before a POST until a watch shows the Deployment of the application. Idle: {n} deployments, one after the other, each when the previous one is ready. Busy: as many at ${RATE} POST/s, each from the time at which its POST was due. Each round has a new Kubernetes, and starts with ${WARM} deployments that do not count. Each deployment has one pod and an external database and cache, so its Deployment waits for nothing. idle custom resource: the median until a watch shows the custom resource, which is the time of API, PostgreSQL and listener. idle from it: from there to the Deployment, which is the time of the operator. The processor time of the busy deployments ends when the last Deployment is visible.`,
  floor:
    'A program repeats the writes that listener and operator sent up to this Deployment, with other names, as often and at the same rate, until a watch shows the Deployment. It has no API and no database, and reads and decides nothing.',
  n: DEPLOYMENTS,
  goalsFrom: DEPLOYMENTS,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'idle p50', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 40 } },
    { name: 'idle p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 150 } },
    { name: 'idle custom resource', unit: 'ms' },
    { name: 'idle from it', unit: 'ms' },
    { name: 'busy p50', unit: 'ms' },
    { name: 'busy p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 500 } },
    ...BUSY_COSTS,
  ],
  start: async (context) => {
    const count = context.n ?? DEPLOYMENTS;
    const recorded = whenAsked(async () =>
      upTo(await recordingOf(context, 'visible', bodyAlone), RESOURCES.Deployment.kind),
    );
    let note = '';
    let steps = '';
    const ours = () =>
      inOwnWorld(context, 'visible', async ({ berth, apps }): Promise<Sample> => {
        note = berth.note;
        const arrivals = noteArrivals(apps, (_app, { metadata }) => metadata.labels?.[LABELS.deploymentId]);
        return sampleOf(
          { count, berth, roles: ROLES },
          async (name, began) => {
            const { id } = await berth.create(bodyAlone(name));
            const { resource, visible } = await arrivals.of(id);
            return { resource: resource - began, visible: visible - began };
          },
          () => until(apps, isSettled),
        );
      });
    const floor = async () => {
      const recording = await recorded();
      steps = `${recording.waves.flat().length} writes in ${recording.waves.length} steps`;
      return besideNothing(context, 'floor', async (berth): Promise<Sample> => {
        await using stage = await openStage(recording, berth);
        const player = stage.player();
        await using apps = await Apps.start(berth.admin, berth.namespace);
        const isUp = ({ objects }: SeenApp) =>
          [...objects.values()].some((each) => isApi(each) && isAvailable(each));
        const arrivals = noteArrivals(apps, ({ name }) => name);
        let played = 0;
        return await sampleOf(
          { count, berth, roles: [] },
          async (_name, began) => {
            played += 1;
            const index = played;
            await player.one('floor', index);
            const { resource, visible } = await arrivals.of(nameLike(recording, 'floor', index));
            return { resource: resource - began, visible: visible - began };
          },
          () => until(apps, isUp),
        );
      });
    };
    return {
      ours,
      floor,
      notes: () => [
        `${count} deployments each. Up to the Deployment there are ${steps}, and each waits for the previous one. Before them, Berth needs two commits of PostgreSQL.`,
        note,
      ],
    };
  },
};

/** The times when objects were seen, by performance.now() or in ms since the POST. */
interface Arrival {
  readonly resource: number;
  readonly visible: number;
}

/** Records when custom resource and Deployment are first seen. @param keyOf the key of the deployment of an object */
function noteArrivals(apps: Apps, keyOf: (app: SeenApp, object: UntypedObject) => string | undefined) {
  const seen = { resource: new Map<string, number>(), visible: new Map<string, number>() };
  apps.follow((app, object, at) => {
    const key = keyOf(app, object);
    const times = isApi(object)
      ? seen.visible
      : object.kind === RESOURCES.ManagedDeployment.kind && seen.resource;
    if (key !== undefined && times && !times.has(key)) times.set(key, at);
  });
  return {
    /** @throws Error if the Deployment is not seen in time */
    async of(key: string): Promise<Arrival> {
      const deadline = performance.now() + patience(1);
      // Polls the records of the watch.
      for (;;) {
        const [resource, visible] = [seen.resource.get(key), seen.visible.get(key)];
        if (resource !== undefined && visible !== undefined) return { resource, visible };
        if (performance.now() > deadline) throw new Error(`failed to see the Deployment of ${key}`);
        await sleep(POLL_MS);
      }
    },
  };
}

/** Resolves when `check` is true for every deployment. @throws Error after a timeout */
async function until(apps: Apps, check: (app: SeenApp) => boolean): Promise<void> {
  const deadline = performance.now() + patience(1);
  while (apps.size === 0 || !apps.all().every(check)) {
    if (performance.now() > deadline) throw new Error('not every deployment became ready in time');
    await sleep(POLL_MS);
  }
}

const visibleOf = ({ visible }: Arrival) => visible;

/**
 * Runs the warm-up, then the idle and the busy deployments.
 * @param side the number of deployments, and the roles whose processor time counts
 * @param single creates a deployment; returns the times in ms since `began`
 * @param served resolves when all deployments are ready
 */
async function sampleOf(
  side: { count: number; berth: ClusterBerth; roles: readonly BenchRole[] },
  single: (name: string, began: number) => Promise<Arrival>,
  served: () => Promise<void>,
): Promise<Sample> {
  const { count } = side;
  const idle = async (prefix: string, some: number): Promise<Arrival[]> => {
    const values: Arrival[] = [];
    for (let index = 0; index < some; index += 1) {
      values.push(await single(`${prefix}-${index}`, performance.now()));
      await served();
      await sleep(PAUSE_MS);
    }
    return values;
  };
  const busy = async (): Promise<Arrival[]> => {
    const pending: Promise<Arrival>[] = [];
    const began = performance.now();
    for (let index = 0; index < count; index += 1) {
      const due = began + (index * MS) / RATE;
      await sleep(Math.max(0, due - performance.now()));
      // The time counts from the due time, because a POST that is late on busy processors is late for its caller too.
      const one = single(`busy-${index}`, due);
      // Awaited below.
      one.catch(() => undefined);
      pending.push(one);
    }
    return Promise.all(pending);
  };
  await Promise.all(Array.from({ length: WARM }, (_, index) => single(`warm-${index}`, performance.now())));
  await served();
  const alone = await idle('idle', count);
  const { result: crowd, costs } = await withCosts(side, busy);
  const median = (of: (arrival: Arrival) => number) => summarise(alone.map(of)).median;
  return {
    ...percentiles(alone.map(visibleOf), 'idle '),
    'idle custom resource': median(({ resource }) => resource),
    'idle from it': median(({ resource, visible }) => visible - resource),
    ...percentiles(crowd.map(visibleOf), BUSY),
    ...Object.fromEntries(Object.entries(costs).map(([name, value]) => [`${BUSY}${name}`, value])),
  };
}
