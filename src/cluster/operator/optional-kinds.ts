import type { Logger } from '../../domain/core/logger.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { type Clock, sleep } from '../kube/client/clock.ts';
import { type ChildKindName, OPTIONAL_KINDS } from './kinds.ts';
import type { Caches } from './observe/caches.ts';
import { availableKinds } from './preflight.ts';

export interface OptionalKindsOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly caches: Pick<Caches, 'watches' | 'isFailing' | 'watch' | 'unwatch'>;
  /** Time between two checks, in milliseconds. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Time within which a kind must be listed. If the list takes longer, for example because of missing rights, it is
 * retried later.
 */
const SYNC_MS = 60_000;

/** Time between two checks while an optional kind cannot be listed or watched, in milliseconds. */
const FAILING_MS = 2_000;

/**
 * Checks at intervals which optional kinds the cluster has, and sooner when the list or watch of such a kind fails.
 * Starts to watch a kind that was installed and stops to watch one that was removed. Runs until the signal fires.
 */
export async function followOptionalKinds(
  { client, caches, intervalMs, clock, logger }: OptionalKindsOptions,
  signal: AbortSignal,
): Promise<void> {
  let hasWarned = false;
  for (;;) {
    await sleepUntilDue();
    if (signal.aborted) return;
    try {
      const present = await availableKinds(client, OPTIONAL_KINDS, signal);
      for (const kind of OPTIONAL_KINDS) await follow(kind, present.includes(kind));
      hasWarned = false;
    } catch (error) {
      if (signal.aborted) return;
      logger[hasWarned ? 'debug' : 'warn'](
        { error: String(error) },
        'failed to check which kinds the cluster has; next: none, it is retried',
      );
      hasWarned = true;
    }
  }

  async function sleepUntilDue(): Promise<void> {
    const dueAt = clock.now() + intervalMs;
    do {
      await sleep(clock, Math.min(FAILING_MS, Math.max(0, dueAt - clock.now())), signal);
    } while (
      !signal.aborted &&
      clock.now() < dueAt &&
      !OPTIONAL_KINDS.some((kind) => caches.isFailing(kind))
    );
  }

  async function follow(kind: ChildKindName, isPresent: boolean): Promise<void> {
    if (isPresent === caches.watches(kind)) return;
    if (isPresent) await caches.watch(kind, AbortSignal.any([signal, AbortSignal.timeout(SYNC_MS)]));
    else await caches.unwatch(kind);
    logger.info(
      { kind },
      isPresent
        ? 'an optional kind was installed in the cluster'
        : 'an optional kind was removed from the cluster',
    );
  }
}
