/** Whether a call that was refused is tried again with eyes shut. */
import type { KubernetesExchange, KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import type { FaultRole, FaultWorld } from '../world.ts';

/**
 * After three answers that each begin a pause of up to 0.5 s, 1 s and 2 s, all three are shorter once in some forty
 * thousand times. A call that is repeated without one comes back within it.
 */
const AT_ONCE_MS = 30;
/** Fewer pauses than these may all be short by chance. */
const TELLING = 3;

export interface News {
  /** Milliseconds since the epoch at which the role was told of something. */
  readonly told: readonly number[];
  /** What it has asked for about one object, by itself. */
  readonly asked: () => readonly KubernetesRequest[];
}

/** What a role gets to know from now on, by its watches and by asking. */
export function watchNews(world: FaultWorld, role: FaultRole): News {
  const told: number[] = [];
  world.kubernetes.add({
    match: ({ client, verb }) => client === role && verb === 'watch',
    fault: {
      kind: 'filter-watch',
      drop: ({ type }) => {
        if (type !== 'BOOKMARK') told.push(Date.now());
        return false;
      },
    },
  });
  return { told, asked: () => world.kubernetes.exchanges(role).filter(({ verb }) => verb === 'get') };
}

export const pathOf = (path: string) => new URL(path, 'https://kubernetes').pathname;

/** A line when each of at least three tries came at once, with no look at the object and no news between. */
export function blindTries(tries: readonly KubernetesExchange[], { told, asked }: News): string[] {
  const looks = asked();
  const pauses = tries.flatMap((next, index) => {
    const before = tries.slice(0, index).findLast(({ path }) => pathOf(path) === pathOf(next.path));
    if (before === undefined || before.upstreamStatus !== 0) return [];
    const isBetween = (at: number) => at >= before.endedAt && at <= next.at;
    const knowsMore =
      told.some(isBetween) ||
      looks.some(
        ({ seq, at, resource, name }) =>
          seq !== next.seq && resource === next.resource && name === next.name && isBetween(at),
      );
    const ms = next.at - before.endedAt;
    return [{ ms, isBlind: !knowsMore && ms < AT_ONCE_MS }];
  });
  if (pauses.length < TELLING || !pauses.every(({ isBlind }) => isBlind)) return [];
  return [
    `tried again after ${pauses.map(({ ms }) => `${ms} ms`).join(', ')}, and nothing was looked at between`,
  ];
}
