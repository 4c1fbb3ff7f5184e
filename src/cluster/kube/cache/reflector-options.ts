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
  /** Namespace to list and watch; absent: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /**
   * Reduces an object before it is cached; default: removes metadata.managedFields. The function may change its
   * argument.
   */
  transform?: (object: T) => T;
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Number of most recently used objects that are kept uncompressed. Default: all. */
  maxUncompressed?: number;
  /** Page size of paged lists, default 200. */
  pageSize?: number;
  /** Range of the random duration of a watch; default 300–600 s. */
  watchSeconds?: { min: number; max: number };
  /**
   * A watch without any data for this time is considered dead; default 90 s (the server sends a bookmark about every
   * 60 s).
   */
  idleTimeoutMs?: number;
  /** Deadline of one page of a list, or the longest silence in a streamed list; default 60 s. */
  listTimeoutMs?: number;
  /** Lists again when a watch ends and the last list is older than this; default: half an hour. */
  relistEveryMs?: number;
  /** Delay between attempts; default 500 ms up to 5 s. */
  backoff?: BackoffOptions;
  clock?: Clock;
  random?: () => number;
}

/** Why a watch, or the list before it, ended. */
export type WatchEnd = 'ended' | KubeErrorKind;

export interface ReflectorStats {
  objects: number;
  lists: number;
  /** Number of watches that were opened after the first. */
  watchRestarts: number;
  /** Watches that ended, by cause: `ended` regularly by the server, otherwise the kind of the error. */
  restarts: Readonly<Partial<Record<WatchEnd, number>>>;
  errors: number;
  /** Number of watch events without bookmarks. */
  events: number;
  handlerErrors: number;
  /** When the reflector was created. */
  since: Date;
  /** Time of the last list, event or bookmark. */
  lastEventAt: Date | undefined;
  /** Message of the current failure; undefined once a watch has been open for a second or has received data. */
  lastError: string | undefined;
}
