/** Whether a call that was refused is tried again with eyes shut. */
import { fileURLToPath } from 'node:url';
import type { KubernetesExchange, KubernetesRequest, WatchEvent } from '../proxies/kubernetes-traffic.ts';
import type { FaultRole, FaultWorld } from '../world.ts';

const EVEN_CHANCE = fileURLToPath(new URL('../even-chance.ts', import.meta.url));

/**
 * Pauses have full jitter, so that one of up to 0.5 s may be as good as none by chance. For plans that judge each pause
 * chance gives the upper half alone: then the first of all is 250 ms long, or none was made.
 */
export const LASTING_PAUSES: Readonly<Record<string, string>> = {
  NODE_OPTIONS: `--import=${EVEN_CHANCE}`,
};

/** Well below the shortest pause. A call that is repeated without one comes back within it, on a busy machine too. */
const AT_ONCE_MS = 150;
/** A look decides on several calls, which go one after the other: what came meanwhile was not known when it decided. */
const DECIDED_BEFORE_MS = 1_000;

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

export const pathOf = (path: string) => new URL(path, 'https://kubernetes').pathname;

/** A line for each try that came at once, with no look at the object and no news of the deployment since it was decided on. */
export function blindTries(tries: readonly KubernetesExchange[], { told, asked }: News): string[] {
  const looks = asked();
  /** News explain one try, not each that follows. */
  let explained = Number.NEGATIVE_INFINITY;
  return tries.flatMap((next, index) => {
    const before = tries.slice(0, index).findLast(({ path }) => pathOf(path) === pathOf(next.path));
    if (before === undefined || before.upstreamStatus !== 0) return [];
    const ms = next.at - before.endedAt;
    const since = Math.max(before.at - DECIDED_BEFORE_MS, explained + 1);
    const knowsMore =
      told.some((at) => at >= since && at <= next.at) ||
      looks.some(
        ({ seq, at, resource, name }) =>
          seq !== next.seq &&
          resource === next.resource &&
          name === next.name &&
          at >= before.endedAt &&
          at <= next.at,
      );
    explained = next.at;
    if (knowsMore || ms >= AT_ONCE_MS) return [];
    return [`tried again after ${ms} ms, and nothing was looked at between`];
  });
}
