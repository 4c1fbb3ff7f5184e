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
const POLL_MS = 100;

export interface Seen {
  readonly at: number;
  readonly what: string;
  /** Whether it happens periodically without a cause: a list of a cache, an inventory, the removal of expired rows. */
  readonly isPeriodic: boolean;
}

/** The parameter in which two lists of the same objects differ. */
const VERSIONS = /(?<=[?&])resourceVersion=\d+&?/;

/** The hourly removal of expired rows. */
const EXPIRED = /^\s*DELETE\b.*\bnow\(\)/s;

/** Requests and writes since `from`, except heartbeats. */
export function activity(world: Pick<FaultWorld, 'kubernetes' | 'hub' | 'postgres'>, from: number): Seen[] {
  const { kubernetes, hub, postgres } = world;
  return [
    ...kubernetes
      .exchanges()
      .filter((exchange) => exchange.at >= from && !isKubernetesHeartbeat(exchange))
      .map(({ at, client, verb, path, status }) => ({
        at,
        what: `${client}: ${verb} ${path.replace(VERSIONS, '')} ${status}`,
        isPeriodic: verb === 'list',
      })),
    ...hub
      .exchanges()
      .filter((exchange) => exchange.at >= from && !isHubHeartbeat(exchange))
      .map(({ at, client, method, path, status }) => ({
        at,
        what: `${client}: ${method} ${path} ${status}`,
        isPeriodic: path.endsWith('/inventory'),
      })),
    ...postgres
      .messages()
      .filter((message) => message.at >= from && !isSqlHeartbeat(message))
      .map(({ at, client, sql }) => ({
        at,
        what: `${client}: ${sql.slice(0, 200)}`,
        isPeriodic: EXPIRED.test(sql),
      })),
  ];
}

/** Heartbeats that occur more often than any timer of Berth: a loop that polls, renews or reconnects. */
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
  return faster(beats, ms / 1000).map((what) => ({ at: from + ms, what, isPeriodic: false }));
}

/**
 * Removes periodic requests that occur only once: caches are listed every half hour, expired rows are removed every hour,
 * and an inventory is taken every ten minutes. A second one within a minute is needless work.
 */
export function withoutPeriodicChecks(seen: readonly Seen[]): Seen[] {
  return seen.filter(
    ({ what, isPeriodic }) => !isPeriodic || seen.filter((other) => other.what === what).length > 1,
  );
}

/** One line for each request, with the seconds since `from`. */
export const linesSince = (from: number, seen: readonly Seen[]) =>
  seen.map(({ at, what }) => `after ${Math.round((at - from) / 1000)} s: ${what}`);

/**
 * Resolves when the proxies have seen no work for `forMs`.
 * @throws Error with the last requests, after `timeoutMs`
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
    await sleep(POLL_MS);
  }
}
