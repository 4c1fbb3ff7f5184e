/** Each watch is cut at its first event, in five ways. */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { LABELS, MANAGED_BY } from '../../../src/contract/resource/names.ts';
import { TASK_COMPONENT } from '../../../src/workloads/labels.ts';
import type { FaultPlan, Violation, Workload } from '../plan.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import type { FaultWorld } from '../world.ts';
import {
  ALL_KINDS,
  broken,
  change,
  idOf,
  imageChange,
  isUpToDate,
  prepared,
  runningDeployment,
  within,
} from './steps.ts';

/** Labels of the Jobs that the operator watches for tasks. */
const TASK_LABELS = { [LABELS.managedBy]: MANAGED_BY, [LABELS.component]: TASK_COMPONENT };

const IN_SUBSET: ReadonlySet<string> = new Set(['watch/cut/gone-event']);
const ENDED_WITHIN_S = 30;
const RECOVERED_WITHIN_S = 30;

const CUTS = {
  end: 'the last one: the watch ends without an error',
  'mid-line': 'cut in the middle of its line, once, and the watch ends there',
  reset: 'the last one: the watch is reset',
  'gone-event': 'the last one: the watch ends with 410 as an event',
  'gone-status': 'the last one: the watch ends without an error, and the next watch gets 410, once',
} as const;
type Cut = keyof typeof CUTS;

/** Client and path of a watch. They are equal for a watch and its successor. */
export const watchName = ({ client, path }: KubernetesRequest) =>
  `${client} ${new URL(path, 'https://kubernetes').pathname}`;

/** Whether watches with all these names are open that were requested at or after `after`. */
export function areOpenAgain(world: FaultWorld, names: readonly string[], after: number): boolean {
  const open = new Set(
    world.kubernetes
      .openWatches()
      .filter(({ at }) => at >= after)
      .map(watchName),
  );
  return names.every((name) => open.has(name));
}

/** Kinds without an event when the image changes. */
const UNCHANGED = [
  RESOURCES.StatefulSet,
  RESOURCES.Service,
  RESOURCES.ServiceAccount,
  RESOURCES.HorizontalPodAutoscaler,
  RESOURCES.PodDisruptionBudget,
  RESOURCES.NetworkPolicy,
  RESOURCES.PersistentVolumeClaim,
];

/** Causes an event for each kind that the change of the image does not affect. */
async function touchOthers(world: FaultWorld): Promise<void> {
  const { admin, namespace } = world;
  const kinds = UNCHANGED.map(({ plural }) => plural).join(',');
  const ours = `${LABELS.managedBy}=${MANAGED_BY}`;
  await world.kubectl('annotate', kinds, '--selector', ours, '--overwrite', 'faults.example/touched=yes');
  // No deployment here has a route, so an Ingress with our label is created and deleted.
  const { group, version, kind } = RESOURCES.Ingress;
  const apiVersion = `${group}/${version}`;
  const metadata = { name: 'touched', namespace, labels: { [LABELS.managedBy]: MANAGED_BY } };
  const spec = { defaultBackend: { service: { name: 'nobody', port: { number: 80 } } } };
  await admin.create({ apiVersion, kind, metadata, spec } as UntypedObject);
  await admin.delete(RESOURCES.Ingress, { namespace, name: metadata.name });
  await touchTasks(world);
}

/** No deployment here runs a task. A task of a deployment that does not exist starts nothing, and neither does a suspended Job or CronJob. */
async function touchTasks({ admin, namespace }: FaultWorld): Promise<void> {
  const metadata = { name: 'touched', namespace, labels: TASK_LABELS };
  const task = { deployment: 'missing', command: ['true'], timeoutSeconds: 60 };
  const template = {
    spec: { restartPolicy: 'Never', containers: [{ name: 'touched', image: 'registry.test/touched' }] },
  };
  for (const [resource, spec] of [
    [RESOURCES.DeploymentTask, task],
    [RESOURCES.Job, { suspend: true, template }],
    [RESOURCES.CronJob, { schedule: '0 0 1 1 *', suspend: true, jobTemplate: { spec: { template } } }],
  ] as const) {
    const { group, version, kind } = resource;
    const apiVersion = `${group}/${version}`;
    await admin.create({ apiVersion, kind, metadata, spec } as unknown as UntypedObject);
    await admin.delete(resource, { namespace, name: metadata.name });
  }
}

const changed: Workload = {
  name: 'update-and-touch',
  prepare: async (world) => ({ id: (await runningDeployment(world, ALL_KINDS)).id }),
  run: async (world, given) => {
    await change(world, idOf(given), imageChange('2.0.0'));
    await touchOthers(world);
    return given;
  },
  end: async (world, given) => void (await world.ready(idOf(given))),
};

interface Cutting {
  /** Names of the watches that were open at the start. */
  readonly names: readonly string[];
  /** The names of those that have not met the fault yet. */
  readonly left: () => string[];
  /** Removes the rules. */
  readonly stop: () => void;
}

function cutEach(world: FaultWorld, how: Cut): Cutting {
  // Other tests install the Gateway API in the same cluster, and nothing here changes an HTTPRoute.
  const names = world.kubernetes
    .openWatches()
    .filter(({ resource }) => resource !== RESOURCES.HTTPRoute.plural)
    .map(watchName);
  const ended = new Set<string>();
  const rejected = new Set<string>();
  const isGone = how === 'gone-status';
  const rules = [
    world.kubernetes.add({
      // The server sends an event again if it was cut in its middle. If it were cut each time, it would never arrive.
      match: (request) => request.verb === 'watch' && (how !== 'mid-line' || !ended.has(watchName(request))),
      fault: {
        kind: 'cut-watch',
        afterEvents: how === 'mid-line' ? 0 : 1,
        how: isGone ? 'end' : how,
        onCut: (request) => void ended.add(watchName(request)),
      },
    }),
  ];
  if (isGone)
    rules.push(
      world.kubernetes.add({
        match: (request) => {
          if (request.verb !== 'watch' || rejected.has(watchName(request))) return false;
          rejected.add(watchName(request));
          return true;
        },
        fault: { kind: 'answer', status: 410 },
      }),
    );
  return {
    names,
    left: () => names.filter((name) => !ended.has(name) || (isGone && !rejected.has(name))),
    stop: () => {
      for (const rule of rules) rule.remove();
    },
  };
}

function cutPlan(how: Cut): FaultPlan {
  return {
    name: `watch/cut/${how}`,
    inSubset: IN_SUBSET.has(`watch/cut/${how}`),
    says: `update: the first event on each watch of operator and listener is ${CUTS[how]}. Correct within ${RECOVERED_WITHIN_S} s.`,
    like: changed,
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, changed);
      const begun = Date.now();
      const cutting = cutEach(world, how);
      const now = await changed.run(world, given);
      await within(ENDED_WITHIN_S, 'the end of each watch', async () => cutting.left().length === 0);
      const left = cutting.left();
      cutting.stop();
      if (cutting.names.length === 0) return [broken('no watch was open')];
      if (left.length > 0) return [broken(`not ended as expected: ${left.join(', ')}`)];
      return within(
        RECOVERED_WITHIN_S,
        'the change to be applied, and each watch to be open',
        async () => areOpenAgain(world, cutting.names, begun) && (await isUpToDate(world, idOf(now))),
      );
    },
  };
}

export const watchCutPlans: readonly FaultPlan[] = (Object.keys(CUTS) as Cut[]).map(cutPlan);
