/** A process starts, and the streams of its lists are cut: it has each complete list before it acts. */
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import { kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Violation, Workload } from '../plan.ts';
import { isStreamedList } from '../proxies/kubernetes-request.ts';
import type {
  KubernetesExchange,
  KubernetesFault,
  KubernetesRequest,
} from '../proxies/kubernetes-traffic.ts';
import type { FaultRole, FaultWorld } from '../world.ts';
import {
  ALL_KINDS,
  broken,
  change,
  idOf,
  imageChange,
  isUpToDate,
  live,
  prepared,
  runningDeployment,
  within,
} from './steps.ts';
import { areOpenAgain, watchName } from './watch-cuts.ts';

const RECOVERED_WITHIN_S = 30;

type Cut = Pick<Extract<KubernetesFault, { kind: 'cut-watch' }>, 'afterEvents' | 'how'>;

const CUTS = {
  'at-once': { says: 'reset before its first object', afterEvents: 0, how: 'reset' },
  'mid-line': { says: 'cut in the middle of its first object', afterEvents: 0, how: 'mid-line' },
  ended: { says: 'ended in order after its first object', afterEvents: 1, how: 'end' },
} as const satisfies Record<string, Cut & { says: string }>;

const isListOf = (name: string, ...kinds: readonly Resource[]) =>
  kinds.some(({ plural }) => name.endsWith(`/${plural}`));
/** Deployments do not wait for the caches of tasks, which a cluster need not have. */
const isOfTasks = (name: string) => isListOf(name, RESOURCES.DeploymentTask, RESOURCES.Job);
/** No deployment here has a route or a task, so these lists are empty and cannot be cut after an object. */
const isEmpty = (name: string) => isOfTasks(name) || isListOf(name, RESOURCES.Ingress);

const changedMeanwhile: Workload = {
  name: 'changed-while-away',
  prepare: async (world) => {
    // With a second deployment, a list that was cut after its first object is incomplete.
    await runningDeployment(world, {}, 'other');
    return { id: (await runningDeployment(world, ALL_KINDS)).id };
  },
  run: async (world, given) => {
    await change(world, idOf(given), imageChange('2.0.0'));
    return given;
  },
  end: async (world, given) => void (await world.ready(idOf(given))),
};

/** Cuts the first stream of each list of the role. Returns the names of the watches that were cut so far. */
function cutFirst(world: FaultWorld, role: FaultRole, cut: Cut): ReadonlySet<string> {
  const met = new Set<string>();
  const ended = new Set<string>();
  const isFirst = (request: KubernetesRequest) => {
    if (request.client !== role || !isStreamedList(request) || met.has(watchName(request))) return false;
    met.add(watchName(request));
    return true;
  };
  const onCut = (request: KubernetesRequest) => void ended.add(watchName(request));
  world.kubernetes.add({ match: isFirst, fault: { kind: 'cut-watch', ...cut, onCut } });
  return ended;
}

/** What happened after the cuts. */
export interface AfterCuts {
  /** All requests of the role to the API server since its start. */
  readonly requests: readonly KubernetesExchange[];
  /** Names of the watches that fill the caches for deployments. */
  readonly watched: readonly string[];
  /** Names of the watches whose first list was cut. */
  readonly cut: ReadonlySet<string>;
  /** Whether the role received the beginning of each cut stream. */
  readonly hasBegun: boolean;
}

const continues = ({ path }: KubernetesRequest) =>
  new URL(path, 'https://kubernetes').searchParams.has('continue');

/**
 * The end of the first complete list, in milliseconds since the epoch: of its last page, if it has pages. A page that fails
 * ends its list, unless the same page is requested again. Infinity: no list was completed.
 */
function endOfFirstComplete(requests: readonly KubernetesExchange[]): number {
  const begins = requests.flatMap((request, index) => (index === 0 || !continues(request) ? [index] : []));
  const lists = begins.map((begin, index) => requests.slice(begin, begins[index + 1]));
  const isAnswered = ({ status, endedAt }: KubernetesExchange) =>
    status >= 200 && status < 300 && endedAt > 0;
  const lastPages = lists.flatMap((pages) => pages.at(-1) ?? []);
  return lastPages.find(isAnswered)?.endedAt ?? Number.POSITIVE_INFINITY;
}

/**
 * Checks that each cut list is requested again (with pages, if the role had received the beginning of the stream), and that
 * the role writes nothing before every cache has its first complete list. Other lists fill no cache, such as those of a
 * purge or of the Events of one object, and may come later.
 */
export function afterCuts({ requests, watched, cut, hasBegun }: AfterCuts): Violation[] {
  const listsOf = (name: string) =>
    requests.filter((each) => each.verb === 'list' && watchName(each) === name);
  const afterCut = (name: string) => listsOf(name).slice(cut.has(name) ? 1 : 0);
  const isListedAgain = (name: string) => {
    const [, second] = listsOf(name);
    return second !== undefined && !(hasBegun && isStreamedList(second));
  };
  const missing = [...cut].filter((name) => !isListedAgain(name));
  const completeAt = (name: string) => endOfFirstComplete(afterCut(name));
  const ends = watched.map((name) => ({ name, at: completeAt(name) })).sort((a, b) => b.at - a.at);
  const [last] = ends;
  const early = requests.filter(({ at }) => last !== undefined && at < last.at).map(kubernetesEffect);
  return [
    ...missing.map((name) => broken(`not listed correctly after the cut: ${name}`)),
    ...early
      .filter((effect) => effect !== undefined)
      .map((effect) => broken(`${effect} before all lists were complete; the last one was ${last?.name}`)),
  ];
}

function cutPlan(role: FaultRole, name: keyof typeof CUTS): FaultPlan {
  const { says, ...cut } = CUTS[name];
  return {
    name: `watch/list-cut/${role}/${name}`,
    says: `update: while the ${role} is stopped. It starts, and the first stream of each list is ${says}. Correct within ${RECOVERED_WITHIN_S} s.`,
    like: changedMeanwhile,
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, changedMeanwhile);
      const names = world.kubernetes.openWatches(role).map(watchName);
      const wanted = names.filter((each) => name === 'at-once' || !isEmpty(each));
      const ended = cutFirst(world, role, cut);
      await world.kill(role);
      const now = await changedMeanwhile.run(world, given);
      const begun = Date.now();
      await world.restart(role);
      const late = await within(
        RECOVERED_WITHIN_S,
        'the change to be applied, and each watch to be open',
        async () => areOpenAgain(world, names, begun) && (await isUpToDate(world, idOf(now))),
      );
      const left = wanted.filter((each) => !ended.has(each));
      if (wanted.length === 0) return [broken('no watch was open')];
      if (left.length > 0) return [broken(`not cut: ${left.join(', ')}`)];
      const requests = world.kubernetes.exchanges(role).filter(({ at }) => at >= begun);
      // A reset may overtake the head of the response, so the role may not know that the server supports streams.
      const watched = names.filter((each) => !isOfTasks(each));
      return [...late, ...afterCuts({ requests, watched, cut: ended, hasBegun: name !== 'at-once' })];
    },
  };
}

/** The cut stream contained an object that the next list does not contain. */
const goneMeanwhile: FaultPlan = {
  name: 'watch/list-cut/operator/gone-meanwhile',
  says: `The operator starts, and the stream of Deployments is cut after the last one. Before the next list, a user deletes one: it is recreated within ${RECOVERED_WITHIN_S} s.`,
  run: async (world): Promise<Violation[]> => {
    const { id, app } = await runningDeployment(world);
    const { Deployment } = RESOURCES;
    const name = `${app}-api`;
    const { metadata } = await live(world, Deployment, name);
    const { items } = await world.admin.list(Deployment, { namespace: world.namespace });
    const isOne = ({ client, verb, resource }: KubernetesRequest) =>
      client === 'operator' && verb === 'list' && resource === Deployment.plural;
    // The proxy checks the newest rule first. It applies to the stream, and the older rule to the list after it.
    const deleted = world.kubernetes.add({
      match: isOne,
      fault: {
        kind: 'before',
        run: async () => void (await world.kubectl('delete', Deployment.plural, name)),
      },
      times: 1,
    });
    const cut = world.kubernetes.add({
      match: (request) => isOne(request) && isStreamedList(request),
      fault: { kind: 'cut-watch', afterEvents: items.length, how: 'reset' },
      times: 1,
    });
    await world.restart('operator');
    const late = await within(RECOVERED_WITHIN_S, 'another Deployment', async () => {
      const { metadata: now }: UntypedObject = await live(world, Deployment, name);
      return now.uid !== metadata.uid;
    });
    await world.ready(id);
    if (cut.taken() === 0 || deleted.taken() === 0) return [broken('the list was not cut')];
    return late;
  },
};

export const listCutPlans: readonly FaultPlan[] = [
  ...(['operator', 'listener'] as const).flatMap((role) =>
    (Object.keys(CUTS) as (keyof typeof CUTS)[]).map((name) => cutPlan(role, name)),
  ),
  goneMeanwhile,
];
