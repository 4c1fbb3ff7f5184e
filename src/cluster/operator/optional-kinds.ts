import type { Logger } from '../../domain/core/logger.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { type Clock, sleep } from '../kube/client/clock.ts';
import { type ChildKindName, OPTIONAL_KINDS } from './kinds.ts';
import type { Caches } from './observe/caches.ts';
import { availableKinds } from './preflight.ts';

export interface OptionalKindsOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly caches: Pick<Caches, 'watches' | 'watch' | 'unwatch'>;
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

/**
 * Checks at intervals which optional kinds the cluster has. Starts to watch a kind that was installed and stops to watch
 * one that was removed. Runs until the signal fires.
 */
export async function followOptionalKinds(
  { client, caches, intervalMs, clock, logger }: OptionalKindsOptions,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(clock, intervalMs, signal);
    if (signal.aborted) return;
    try {
      const present = await availableKinds(client, OPTIONAL_KINDS, signal);
      for (const kind of OPTIONAL_KINDS) await follow(kind, present.includes(kind));
    } catch (error) {
      if (signal.aborted) return;
      logger.warn(
        { error: String(error) },
        'failed to check which kinds the cluster has; next: none, it is retried',
      );
    }
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
