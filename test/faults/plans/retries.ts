/** Judges whether a rejected call is repeated blindly or too often. */
import { fileURLToPath } from 'node:url';
import type { KubernetesExchange, KubernetesRequest, WatchEvent } from '../proxies/kubernetes-traffic.ts';
import type { FaultRole, FaultWorld } from '../world.ts';

const UPPER_HALF_RANDOM = fileURLToPath(new URL('../preload/upper-half-random.ts', import.meta.url));

/**
 * Settings for plans that judge each pause. Backoffs have full jitter, so a pause of up to 0.5 s can be close to zero by
 * chance. With random numbers from the upper half, the shortest pause is 250 ms.
 */
export const LONG_PAUSES: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${UPPER_HALF_RANDOM}`,
};

/** Well below the shortest pause. A retry without a pause arrives within this time, even on a busy machine. */
const IMMEDIATE_MS = 150;
/** A reconcile decides on several sequential calls. Events that arrive during these calls were unknown to the decision. */
const DECIDED_BEFORE_MS = 1_000;
/** Time from the reconcile's view to its first call. It first reads the custom resource, unless it creates only the sentinel. */
const DECIDES_WITHIN_MS = 100;

/** What a role learns about the objects of a call. */
export interface News {
  /** When the role received events of these objects, in milliseconds since the epoch. */
  readonly eventTimes: readonly number[];
  /** GET requests of the role for single objects. */
  readonly reads: () => readonly KubernetesRequest[];
}

/** Records from now on what a role learns, from the matching events of its watches and from its reads. */
export function watchNews(world: FaultWorld, role: FaultRole, matches: (event: WatchEvent) => boolean): News {
  const eventTimes: number[] = [];
  world.kubernetes.add({
    match: ({ client, verb }) => client === role && verb === 'watch',
    fault: {
      kind: 'filter-watch',
      drop: (event) => {
        if (event.type !== 'BOOKMARK' && matches(event)) eventTimes.push(Date.now());
        return false;
      },
    },
  });
  return { eventTimes, reads: () => world.kubernetes.exchanges(role).filter(({ verb }) => verb === 'get') };
}

/** Whether the proxy has answered instead of the API server. */
export const isRefused = ({ upstreamStatus }: KubernetesExchange) => upstreamStatus === 0;

export const pathOf = (path: string) => new URL(path, 'https://kubernetes').pathname;

/** When the reconcile of this attempt started, approximately. Events after this time were unknown to it. */
function decidedAt({ at, name }: KubernetesExchange, reads: readonly KubernetesRequest[]): number {
  const began = reads.findLast(
    (read) =>
      read.resource === 'manageddeployments' &&
      name.startsWith(read.name) &&
      read.at <= at &&
      read.at >= at - DECIDED_BEFORE_MS,
  );
  return began === undefined ? at - DECIDED_BEFORE_MS : began.at - DECIDES_WITHIN_MS;
}

/** One line for each attempt that came immediately, without a read of the object or an event since the decision for the previous one. */
export function blindRetries(
  tries: readonly KubernetesExchange[],
  { eventTimes, reads: listReads }: News,
): string[] {
  const reads = listReads();
  /** Each event explains only one attempt. */
  const unused = [...eventTimes].sort((left, right) => left - right);
  return tries.flatMap((next, index) => {
    const before = tries.slice(0, index).findLast(({ path }) => pathOf(path) === pathOf(next.path));
    if (before === undefined || !isRefused(before)) return [];
    const ms = next.at - before.endedAt;
    const since = decidedAt(before, reads);
    const news = unused.findIndex((at) => at >= since && at <= next.at);
    unused.splice(0, news + 1);
    const knowsMore =
      news >= 0 ||
      reads.some(
        ({ seq, at, resource, name }) =>
          seq !== next.seq &&
          resource === next.resource &&
          name === next.name &&
          at >= before.endedAt &&
          at <= next.at,
      );
    if (knowsMore || ms >= IMMEDIATE_MS) return [];
    return [`tried again after ${ms} ms, without a read or an event since`];
  });
}

/**
 * A call that is rejected as invalid is retried after 2.5 to 5 s, and then after 5 to 10 s
 * (src/cluster/operator/act/refusals.ts). So there are at most three attempts in the first 15 s.
 */
const REJECTED_TRIES = 3;
const REJECTED_SPAN_MS = 15_000;
/** The backoff counts from the start of the reconcile, which makes other calls before the rejected one. */
const REJECTED_PAUSE_MS = 1_500;

/** The rejected attempts of each object. A created object has its name only in the body. */
function rejectedByObject(tries: readonly KubernetesExchange[]): KubernetesExchange[][] {
  const byObject = Map.groupBy(tries.filter(isRefused), ({ path, name }) => `${pathOf(path)} ${name}`);
  return [...byObject.values()];
}

/** One line for each object with more attempts, or shorter pauses, than are allowed after a rejection. */
export function frequentRetries(tries: readonly KubernetesExchange[]): string[] {
  return rejectedByObject(tries).flatMap((rejected) => {
    const from = rejected[0]?.at ?? 0;
    const within = rejected.filter(({ at }) => at - from <= REJECTED_SPAN_MS);
    const pauses = rejected.slice(1).map(({ at }, index) => at - (rejected[index]?.endedAt ?? at));
    const often =
      within.length > REJECTED_TRIES ? [`${within.length} times within ${REJECTED_SPAN_MS} ms`] : [];
    const soon = pauses.filter((ms) => ms < REJECTED_PAUSE_MS).map((ms) => `again after ${ms} ms`);
    const what = `"${rejected[0]?.verb} ${rejected[0]?.resource}" was rejected as invalid, and tried`;
    return [...often, ...soon].map((found) => `${what} ${found}`);
  });
}

/** When each rejected object was attempted. */
export function rejectedFigure(tries: readonly KubernetesExchange[]): string {
  const times = rejectedByObject(tries).map((rejected) =>
    rejected.map(({ at }) => ((at - (rejected[0]?.at ?? at)) / 1000).toFixed(1)).join(', '),
  );
  return `rejected as invalid; attempts of each object after seconds: ${times.join('; ')}`;
}
