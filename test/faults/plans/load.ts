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

/** Changes annotations of pods. Each change is one event for every watch of pods. */
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
  run: async (world, addFigure): Promise<Violation[]> => {
    const checks = new Checks();
    const ids = await Promise.all(['one', 'two', 'three'].map((name) => serving(world, name)));
    const { items } = await world.admin.list(RESOURCES.Pod, { namespace: world.namespace });
    // Pods that the rollout does not replace.
    const pods = items
      .filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] !== 'api')
      .map(({ metadata }) => metadata.name);
    // A first round of events is not measured: it brings the heap to its size, and compiles the code.
    const received = countPodChanges(world, ({ annotations }) => annotations?.[NUMBER] !== undefined);
    await podEvents(world, pods, POD_EVENTS);
    await world.quiet();
    const first = received();
    const before = await liveUsage(world);
    const begun = Date.now();
    const running = podEvents(world, pods, POD_EVENTS);
    await changeImage(world, ids[0] ?? '', 'under-load');
    await world.ready(ids[0] ?? '');
    const rolled = Date.now() - begun;
    await running;
    addFigure(
      `${POD_EVENTS} pod events in ${((Date.now() - begun) / 1000).toFixed(1)} s; the update among them took ${(rolled / 1000).toFixed(1)} s`,
    );
    await world.quiet();
    addFigure(
      `the operator received ${first} events in the first round, and ${received() - first} in the second`,
    );
    for (const number of [first, received() - first])
      checks.that(number >= POD_EVENTS, `the operator received ${number} of ${POD_EVENTS} changes of pods`);
    checkGrowth(before, await liveUsage(world), SLACK_BYTES, checks, addFigure);
    return checks.violations;
  },
};

export const loadPlans: readonly FaultPlan[] = [events, failingLoad];
