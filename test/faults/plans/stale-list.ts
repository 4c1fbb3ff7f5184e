/** A starting process gets old lists: nothing is deleted or changed because of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { smallDeployment } from '../../integration/harness/samples.ts';
import type { FaultPlan, Given, Violation, Workload } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import { callUntilSuccess } from '../retrying-client.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld } from '../world.ts';
import { broken, change, idOf, imageChange, prepared, runningDeployment, scaleOf, within } from './steps.ts';

/** How long the process has only the old lists. */
const BLIND_MS = 4_000;
/** Resources that the operator lists and that determine its work. */
const OPERATOR_LISTS = [
  'manageddeployments',
  'deployments',
  'statefulsets',
  'services',
  'persistentvolumeclaims',
  'controllerrevisions',
  'horizontalpodautoscalers',
  'poddisruptionbudgets',
  'networkpolicies',
  'serviceaccounts',
  'pods',
];

const removing = workloadNamed('delete');

/** Situations. `run` is the change that happens after the lists were recorded. */
const SITUATIONS: readonly Workload[] = [
  {
    name: 'recreated',
    prepare: async (world) => ({ id: (await runningDeployment(world)).id }),
    run: async (world, given) => {
      await removing.end(world, await removing.run(world, given));
      return { id: (await callUntilSuccess(world, 'POST', '/v2/deployments', smallDeployment('shop'))).id };
    },
    end: async (world, given) => void (await world.ready(idOf(given))),
  },
  {
    name: 'scaled-up-again',
    prepare: async (world) => {
      const { id } = await runningDeployment(world, { min_scale: 2, max_scale: 2 });
      await change(world, id, scaleOf(1));
      await world.ready(id);
      return { id };
    },
    run: async (world, given) => {
      await change(world, idOf(given), scaleOf(2));
      return given;
    },
    end: async (world, given) => void (await world.ready(idOf(given))),
  },
  {
    name: 'another-revision',
    prepare: async (world) => ({ id: (await runningDeployment(world)).id }),
    run: async (world, given) => {
      await change(world, idOf(given), imageChange('2.0.0'));
      return given;
    },
    end: async (world, given) => void (await world.ready(idOf(given))),
  },
];

interface Stale {
  readonly role: FaultRole;
  readonly name: string;
  readonly resources: readonly string[];
}

const STALE: readonly Stale[] = [
  { role: 'operator', name: 'operator-everything', resources: OPERATOR_LISTS },
  { role: 'operator', name: 'operator-custom-resources', resources: ['manageddeployments'] },
  { role: 'operator', name: 'operator-workloads', resources: OPERATOR_LISTS.slice(1) },
  { role: 'listener', name: 'listener', resources: ['manageddeployments'] },
];

/** Answers the first list of each resource with the recorded one. Returns a function with the number of such answers so far. */
function answerWithOldLists(world: FaultWorld, { role, resources }: Stale): () => number {
  const shown = new Set<string>();
  const isOne = (client: string, resource: string) => client === role && resources.includes(resource);
  const old = world.kubernetes.add({
    match: ({ client, verb, resource }) => {
      if (verb !== 'list' || !isOne(client, resource) || shown.has(resource)) return false;
      shown.add(resource);
      return true;
    },
    fault: { kind: 'stale-list' },
  });
  const opened = new Set<string>();
  world.kubernetes.add({
    match: ({ client, verb, resource }) => {
      if (verb !== 'watch' || !isOne(client, resource) || opened.has(resource)) return false;
      opened.add(resource);
      return true;
    },
    fault: { kind: 'delay', ms: BLIND_MS },
  });
  return () => old.taken();
}

/** Generations of the objects. A change that was made and reverted has increased them. */
async function generations(world: FaultWorld): Promise<string> {
  const kinds = 'deployments,statefulsets,manageddeployments,horizontalpodautoscalers,services';
  const path = '{range .items[*]}{.kind} {.metadata.name} {.metadata.uid} {.metadata.generation}{"\\n"}{end}';
  return world.kubectl('get', kinds, '-o', `jsonpath=${path}`);
}

function stalePlan(situation: Workload, stale: Stale): FaultPlan {
  const { role, resources } = stale;
  const shown = resources.length === 1 ? resources[0] : `${resources.length} kinds`;
  return {
    name: `stale-list/${situation.name}/${stale.name}`,
    says: `${situation.name}: the ${role} restarts, and gets an old list of ${shown}: it has no effect.`,
    like: situation,
    run: async (world): Promise<Violation[]> => {
      const given: Given = await prepared(world, situation);
      for (const resource of resources) world.kubernetes.recordLists(resource);
      await world.restart(role);
      await world.quiet({ forMs: SETTLED_MS });
      const now = await situation.run(world, given);
      await situation.end(world, now);
      await world.quiet({ forMs: SETTLED_MS });
      const before = await generations(world);
      const count = answerWithOldLists(world, stale);
      await world.restart(role);
      const missed = await within(
        30,
        'the old lists to be delivered',
        async () => count() >= resources.length,
      );
      await sleep(BLIND_MS);
      await situation.end(world, now);
      await world.quiet({ forMs: SETTLED_MS });
      const after = await generations(world);
      const acted = before === after ? [] : [broken(`acted on an old list:\n${before}became\n${after}`)];
      return [...missed, ...acted];
    },
  };
}

export const staleListPlans: readonly FaultPlan[] = SITUATIONS.flatMap((situation) =>
  STALE.map((stale) => stalePlan(situation, stale)),
);
