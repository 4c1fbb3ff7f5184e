/** Many pod events: memory is bounded, and other work continues. */
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import { failingLoad } from './failing-load.ts';
import { CLIENTS, checkGrowth, countPodChanges, inParallel, SLACK_BYTES } from './load-steps.ts';
import { Checks, changeImage, numberFromEnvironment, serving } from './steps.ts';
import { COLLECTING, liveUsage } from './usage.ts';

const POD_EVENTS = numberFromEnvironment('FAULTS_POD_EVENTS', 10_000);
const NUMBER = 'faults.example/number';

/** Changes annotations of pods, so that each is one event for whoever watches pods. */
async function podEvents(world: FaultWorld, pods: readonly string[], count: number): Promise<void> {
  const { namespace, admin } = world;
  const numbers = Array.from({ length: count }, (_, number) => number);
  await inParallel(numbers, (number) => {
    const name = pods[number % pods.length] ?? '';
    const change = { metadata: { annotations: { [NUMBER]: String(number) } } };
    return admin.patch(RESOURCES.Pod, { namespace, name }, change, { fieldManager: 'another' });
  });
}

const events: FaultPlan = {
  name: 'load/pod-events',
  alone: true,
  settings: COLLECTING,
  deadlineSeconds: 600,
  says: `${POD_EVENTS} changes of pods by ${CLIENTS} clients (FAULTS_POD_EVENTS), and as many again during an update: the update succeeds, and memory does not grow.`,
  run: async (world, tell): Promise<Violation[]> => {
    const checks = new Checks();
    const ids = await Promise.all(['one', 'two', 'three'].map((name) => serving(world, name)));
    const { items } = await world.admin.list(RESOURCES.Pod, { namespace: world.namespace });
    // Of what a rollout replaces none: they stay for the whole of it.
    const pods = items
      .filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] !== 'api')
      .map(({ metadata }) => metadata.name);
    // As many before it is measured: a heap that has had its size once is no growth, nor what is compiled at first use.
    const told = countPodChanges(world, ({ annotations }) => annotations?.[NUMBER] !== undefined);
    await podEvents(world, pods, POD_EVENTS);
    await world.quiet();
    const first = told();
    const before = await liveUsage(world);
    const begun = Date.now();
    const running = podEvents(world, pods, POD_EVENTS);
    await changeImage(world, ids[0] ?? '', 'under-load');
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
    checkGrowth(before, await liveUsage(world), SLACK_BYTES, checks, tell);
    return checks.violations;
  },
};

export const loadPlans: readonly FaultPlan[] = [events, failingLoad];
