/** Judges whether a rejected call is repeated blindly or too often. */
import { fileURLToPath } from 'node:url';
import type { KubernetesExchange, KubernetesRequest, WatchEvent } from '../proxies/kubernetes-traffic.ts';
import type { FaultRole, FaultWorld } from '../world.ts';

const UPPER_HALF_RANDOM = fileURLToPath(new URL('../preload/upper-half-random.ts', import.meta.url));

/**
 * Pauses have full jitter, so that one of up to 0.5 s may be as good as none by chance. For plans that judge each pause
 * chance gives the upper half alone: then the first of all is 250 ms long, or none was made.
 */
export const LONG_PAUSES: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${UPPER_HALF_RANDOM}`,
};

/** Well below the shortest pause. A call that is repeated without one comes back within it, on a busy machine too. */
const AT_ONCE_MS = 150;
/** A look decides on several calls, which go one after the other: what came meanwhile was not known when it decided. */
const DECIDED_BEFORE_MS = 1_000;
/** From what a look knows to its first call, which reads the custom resource wherever more than a witness is to be made. */
const DECIDES_WITHIN_MS = 100;

export interface News {
  /** Milliseconds since the epoch at which the role was told of something that the call is about. */
  readonly told: readonly number[];
  /** What it has asked for about one object, by itself. */
  readonly asked: () => readonly KubernetesRequest[];
}

/** What a role gets to know from now on of what is meant, by its watches and by asking. */
export function watchNews(world: FaultWorld, role: FaultRole, isMeant: (event: WatchEvent) => boolean): News {
  const told: number[] = [];
  world.kubernetes.add({
    match: ({ client, verb }) => client === role && verb === 'watch',
    fault: {
      kind: 'filter-watch',
      drop: (event) => {
        if (event.type !== 'BOOKMARK' && isMeant(event)) told.push(Date.now());
        return false;
      },
    },
  });
  return { told, asked: () => world.kubernetes.exchanges(role).filter(({ verb }) => verb === 'get') };
}

/** Answered by the proxy in the API server's place. */
export const isRefused = ({ upstreamStatus }: KubernetesExchange) => upstreamStatus === 0;

export const pathOf = (path: string) => new URL(path, 'https://kubernetes').pathname;

/** Since when news were not known yet to the look that has tried this. */
function decidedAt({ at, name }: KubernetesExchange, looks: readonly KubernetesRequest[]): number {
  const began = looks.findLast(
    (look) =>
      look.resource === 'manageddeployments' &&
      name.startsWith(look.name) &&
      look.at <= at &&
      look.at >= at - DECIDED_BEFORE_MS,
  );
  return began === undefined ? at - DECIDED_BEFORE_MS : began.at - DECIDES_WITHIN_MS;
}

/** A line for each try that came at once, with no look at the object and no news of the deployment since it was decided on. */
export function blindRetries(tries: readonly KubernetesExchange[], { told, asked }: News): string[] {
  const looks = asked();
  /** Each explains one try, the oldest first: not each that follows. */
  const unused = [...told].sort((left, right) => left - right);
  return tries.flatMap((next, index) => {
    const before = tries.slice(0, index).findLast(({ path }) => pathOf(path) === pathOf(next.path));
    if (before === undefined || !isRefused(before)) return [];
    const ms = next.at - before.endedAt;
    const since = decidedAt(before, looks);
    const news = unused.findIndex((at) => at >= since && at <= next.at);
    unused.splice(0, news + 1);
    const knowsMore =
      news >= 0 ||
      looks.some(
        ({ seq, at, resource, name }) =>
          seq !== next.seq &&
          resource === next.resource &&
          name === next.name &&
          at >= before.endedAt &&
          at <= next.at,
      );
    if (knowsMore || ms >= AT_ONCE_MS) return [];
    return [`tried again after ${ms} ms, and nothing was looked at between`];
  });
}

/**
 * What was refused as it stands is tried again after 2.5 to 5 s, and then after 5 to 10 s (src/cluster/operator/act/refusals.ts):
 * three times within the first 15 s at most, whatever happens meanwhile.
 */
const REFUSED_TRIES = 3;
const REFUSED_SPAN_MS = 15_000;
/** A pause is counted from the beginning of the look, which has calls before the refused one. */
const REFUSED_PAUSE_MS = 1_500;

/** Of each object by itself: what is made has its name in the body alone. */
function refusedByObject(tries: readonly KubernetesExchange[]): KubernetesExchange[][] {
  const byObject = Map.groupBy(tries.filter(isRefused), ({ path, name }) => `${pathOf(path)} ${name}`);
  return [...byObject.values()];
}

/** A line for each object that was tried more often, or sooner, than what is refused may be. */
export function frequentRetries(tries: readonly KubernetesExchange[]): string[] {
  return refusedByObject(tries).flatMap((refused) => {
    const from = refused[0]?.at ?? 0;
    const within = refused.filter(({ at }) => at - from <= REFUSED_SPAN_MS);
    const pauses = refused.slice(1).map(({ at }, index) => at - (refused[index]?.endedAt ?? at));
    const often =
      within.length > REFUSED_TRIES ? [`${within.length} times within ${REFUSED_SPAN_MS} ms`] : [];
    const soon = pauses.filter((ms) => ms < REFUSED_PAUSE_MS).map((ms) => `again after ${ms} ms`);
    const what = `"${refused[0]?.verb} ${refused[0]?.resource}" was refused as invalid, and tried`;
    return [...often, ...soon].map((found) => `${what} ${found}`);
  });
}

/** When each object was tried that was refused. */
export function refusedFigure(tries: readonly KubernetesExchange[]): string {
  const times = refusedByObject(tries).map((refused) =>
    refused.map(({ at }) => ((at - (refused[0]?.at ?? at)) / 1000).toFixed(1)).join(', '),
  );
  return `refused as invalid, of each object after s: ${times.join('; ')}`;
}
