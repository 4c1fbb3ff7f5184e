import type { Registry } from 'prom-client';
import type { ReflectorStats } from '../cluster/kube/cache/reflector-options.ts';
import { counterOf, gaugeOf, type Sample } from './collect-on-scrape.ts';

/** Defines the metrics of caches and their watches. */

/** The role that calls the cluster. */
export type ClusterRole = 'operator' | 'listener';

/** A cache with its health. With several namespaces, one kind has several caches. */
export interface WatchStats {
  readonly kind: string;
  readonly stats: ReflectorStats;
}

export type StatsByRole = ReadonlyMap<ClusterRole, () => readonly WatchStats[]>;

function restartsOf(caches: StatsByRole): Sample<'role' | 'kind' | 'cause'>[] {
  return [...caches].flatMap(([role, read]) =>
    read().flatMap(({ kind, stats }) =>
      Object.entries(stats.restarts).map(([cause, value]) => ({ labels: { role, kind, cause }, value })),
    ),
  );
}

/** Registers the metrics of the caches, which are read on scrape. */
export function watchMetrics(registry: Registry, caches: StatsByRole): void {
  const perKind = (fold: (all: readonly ReflectorStats[]) => number) => (): Sample<'role' | 'kind'>[] =>
    [...caches].flatMap(([role, read]) =>
      [...Map.groupBy(read(), ({ kind }) => kind)].map(([kind, watches]) => ({
        labels: { role, kind },
        value: fold(watches.map(({ stats }) => stats)),
      })),
    );
  const labels = ['role', 'kind'] as const;
  gaugeOf({
    name: 'berth_watch_objects',
    help: 'Objects in the cache.',
    labels,
    registry,
    read: perKind((all) => all.reduce((sum, { objects }) => sum + objects, 0)),
  });
  gaugeOf({
    name: 'berth_watch_last_event_timestamp_seconds',
    help:
      'Time of the last list, event or bookmark of a cache, or the creation time of the cache if it has received no ' +
      'data. With several namespaces, the earliest time. The API server sends a bookmark about once a minute.',
    labels,
    registry,
    read: perKind(
      (all) => Math.min(...all.map(({ lastEventAt, since }) => (lastEventAt ?? since).getTime())) / 1000,
    ),
  });
  gaugeOf({
    name: 'berth_watch_failing',
    help: 'Watches that are currently failing, one for each namespace.',
    labels,
    registry,
    read: perKind((all) => all.filter(({ lastError }) => lastError !== undefined).length),
  });
  counterOf({
    name: 'berth_watch_lists_total',
    help: 'Full lists, that is, the first list of each cache, and lists after a watch that could not resume.',
    labels,
    registry,
    read: perKind((all) => all.reduce((sum, { lists }) => sum + lists, 0)),
  });
  counterOf({
    name: 'berth_watch_restarts_total',
    help:
      'Watches that ended, by cause: ended (regularly by the server), gone (the resource version was too old, ' +
      'and a full list follows), or the kind of the error.',
    labels: ['role', 'kind', 'cause'],
    registry,
    read: () => restartsOf(caches),
  });
}
