import type { Logger } from '../../domain/core/logger.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { type Clock, sleep } from '../kube/client/clock.ts';
import { type ChildKindName, OPTIONAL_KINDS } from './kinds.ts';
import type { Caches } from './observe/caches.ts';
import { availableKinds } from './preflight.ts';

export interface OptionalKindsOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly caches: Pick<Caches, 'watches' | 'watch' | 'unwatch'>;
  /** Between two looks, in milliseconds. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A kind whose objects cannot be listed within this (rights are lacking, say) is tried again later. */
const SYNC_MS = 60_000;

/**
 * Asks the cluster now and then which kinds of optional APIs it has: one that is installed later is used from then on,
 * one that is removed is no longer waited for. Runs until the signal fires.
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
      logger.warn({ error: String(error) }, 'failed to look which kinds the cluster has; trying again later');
    }
  }

  async function follow(kind: ChildKindName, isPresent: boolean): Promise<void> {
    if (isPresent === caches.watches(kind)) return;
    if (isPresent) await caches.watch(kind, AbortSignal.any([signal, AbortSignal.timeout(SYNC_MS)]));
    else await caches.unwatch(kind);
    logger.info(
      { kind },
      isPresent ? 'the cluster has a kind that it lacked' : 'the cluster has lost a kind',
    );
  }
}
