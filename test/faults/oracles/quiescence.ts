/** O5: waits until the proxies see no work. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Beat,
  faster,
  hubBeat,
  isHubHeartbeat,
  isKubernetesHeartbeat,
  isSqlHeartbeat,
  kubernetesBeat,
  sqlBeat,
} from '../heartbeats.ts';
import type { FaultWorld } from '../world.ts';

export const QUIET_MS = 5_000;
const WITHIN_MS = 30_000;
const LOOK_MS = 100;

export interface Seen {
  readonly at: number;
  readonly what: string;
  /** By the clock, whatever happens: a cache that is listed anew, the inventory, what has expired. */
  readonly isLook: boolean;
}

/** By which two looks at the same differ. */
const VERSIONS = /(?<=[?&])resourceVersion=\d+&?/;

/** What is removed each hour because its time is over. */
const EXPIRED = /^\s*DELETE\b.*\bnow\(\)/s;

/** What was asked or written since `from`, beyond heartbeats. */
export function activity(world: Pick<FaultWorld, 'kubernetes' | 'hub' | 'postgres'>, from: number): Seen[] {
  const { kubernetes, hub, postgres } = world;
  return [
    ...kubernetes
      .exchanges()
      .filter((exchange) => exchange.at >= from && !isKubernetesHeartbeat(exchange))
      .map(({ at, client, verb, path, status }) => ({
        at,
        what: `${client}: ${verb} ${path.replace(VERSIONS, '')} ${status}`,
        isLook: verb === 'list',
      })),
    ...hub
      .exchanges()
      .filter((exchange) => exchange.at >= from && !isHubHeartbeat(exchange))
      .map(({ at, client, method, path, status }) => ({
        at,
        what: `${client}: ${method} ${path} ${status}`,
        isLook: path.endsWith('/inventory'),
      })),
    ...postgres
      .messages()
      .filter((message) => message.at >= from && !isSqlHeartbeat(message))
      .map(({ at, client, sql }) => ({
        at,
        what: `${client}: ${sql.slice(0, 200)}`,
        isLook: EXPIRED.test(sql),
      })),
  ];
}

/** Heartbeats that came faster than any clock of Berth goes: a loop that polls, renews or reopens. */
export function tooOften(
  world: Pick<FaultWorld, 'kubernetes' | 'hub' | 'postgres'>,
  from: number,
  ms: number,
): Seen[] {
  const since = <M extends { readonly at: number }>(messages: readonly M[]) =>
    messages.filter(({ at }) => at >= from && at < from + ms);
  const beats: Beat[] = [
    ...since(world.kubernetes.exchanges()).filter(isKubernetesHeartbeat).map(kubernetesBeat),
    ...since(world.hub.exchanges()).filter(isHubHeartbeat).map(hubBeat),
    ...since(world.postgres.messages()).filter(isSqlHeartbeat).flatMap(sqlBeat),
  ];
  return faster(beats, ms / 1000).map((what) => ({ at: from + ms, what, isLook: false }));
}

/**
 * Caches are listed anew each half hour, what has expired is removed each hour, and an inventory is taken each ten
 * minutes: within a minute each comes once at most. What is looked for for nothing comes again.
 */
export function unrepeatedLooksLeftOut(seen: readonly Seen[]): Seen[] {
  return seen.filter(({ what, isLook }) => !isLook || seen.filter((other) => other.what === what).length > 1);
}

/** A line each, with the seconds since then. */
export const toldSince = (from: number, seen: readonly Seen[]) =>
  seen.map(({ at, what }) => `after ${Math.round((at - from) / 1000)} s: ${what}`);

/**
 * Resolves when nothing has been seen for so long.
 * @throws Error with what was seen last
 */
export async function untilQuiet(
  world: Pick<FaultWorld, 'kubernetes' | 'hub' | 'postgres'>,
  { timeoutMs = WITHIN_MS, forMs = QUIET_MS }: { timeoutMs?: number; forMs?: number } = {},
): Promise<void> {
  const begun = Date.now();
  for (;;) {
    const now = Date.now();
    const seen = activity(world, Math.max(begun, now - forMs));
    if (seen.length === 0 && now - begun >= forMs) return;
    if (now - begun > timeoutMs) {
      const lines = seen.slice(-10).map(({ what }) => what);
      throw new Error(`not quiet within ${timeoutMs / 1000} s; seen last:\n${lines.join('\n')}`);
    }
    await sleep(LOOK_MS);
  }
}
