import type { BackoffOptions } from '../../../domain/core/backoff.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { KubeClient } from '../client/client-types.ts';
import type { Clock } from '../client/clock.ts';
import type { KubeErrorKind } from '../client/errors.ts';
import type { KubeObject } from '../client/object.ts';
import type { Resource } from '../client/resources.ts';
import type { IndexFunction } from './store.ts';

export interface ReflectorOptions<T extends KubeObject> {
  client: Pick<KubeClient, 'listAll' | 'watch' | 'find'>;
  resource: Resource;
  logger: Logger;
  /** Absent: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Slims an object before it is kept; default: drops metadata.managedFields. May change its argument. */
  transform?: (object: T) => T;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Objects that are kept as they are, those last asked for; the others are packed. Default: all. */
  mostPlain?: number;
  /** Page size of lists that come in pages, default 200. */
  pageSize?: number;
  /** A watch lasts a random time in this range; default 300–600 s. */
  watchSeconds?: { min: number; max: number };
  /** Silence after which a watch counts as dead; default 90 s (the server sends a bookmark about every 60 s). */
  idleTimeoutMs?: number;
  /** Deadline of one page of a list, longest silence of one that is streamed; default 60 s. */
  listTimeoutMs?: number;
  /** Lists anew when a watch ends and the last list is older; default: half an hour. */
  relistEveryMs?: number;
  /** Between attempts; default 500 ms up to 5 s. */
  backoff?: BackoffOptions;
  clock?: Clock;
  random?: () => number;
}

/** Why a watch, or the list before it, came to its end. */
export type WatchEnd = 'ended' | KubeErrorKind;

export interface ReflectorStats {
  objects: number;
  lists: number;
  /** Watches opened after the first. */
  watchRestarts: number;
  /** Watches that ended, by cause: `ended` by the server in order, else the kind of the error. */
  restarts: Readonly<Partial<Record<WatchEnd, number>>>;
  errors: number;
  /** Watch events, bookmarks not counted. */
  events: number;
  handlerErrors: number;
  /** When it was made. */
  since: Date;
  /** Last sign of life: list, event or bookmark. */
  lastEventAt: Date | undefined;
  /** Message of the failure that is going on; undefined once a watch has stood for a second or said something. */
  lastError: string | undefined;
}
