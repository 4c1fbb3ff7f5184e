import type { Logger } from '../../../domain/core/logger.ts';
import { FairLimiter, NO_TENANT } from '../../../domain/scheduling/fair-limiter.ts';
import { type Rate, TokenBuckets } from '../../../domain/scheduling/token-buckets.ts';
import { currentTenant, onBehalfOf } from '../transport/flow-context.ts';
import type { KubeClient } from './client-types.ts';
import { type Clock, systemClock } from './clock.ts';
import { isKubeError, toKubeError } from './errors.ts';
import type { KubeObject } from './object.ts';
import { RESOURCES } from './resources.ts';

export interface EventRecorderOptions {
  client: Pick<KubeClient, 'create' | 'patch'>;
  /** `source.component`, e.g. `berth-operator`. */
  component: string;
  /** `reportingInstance`: the process. */
  instance?: string;
  logger: Logger;
  clock?: Clock;
  /** Reasons that are as important as a warning. Events with these reasons use the separate budget of warnings. */
  important?: ReadonlySet<string>;
}

type EventType = 'Normal' | 'Warning';

/** core/v1 Event, with the fields that are written here. */
export interface EventObject extends KubeObject {
  involvedObject: Record<string, string | undefined>;
  type: EventType;
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
  source: { component: string };
  reportingComponent: string;
  reportingInstance: string;
}

interface Series {
  object: KubeObject;
  type: EventType;
  reason: string;
  message: string;
  /** The created Event; undefined before its creation. */
  at?: { namespace: string; name: string };
  count: number;
  firstAt: Date;
  lastAt: Date;
  /** Whether the entry waits to be sent. */
  queued: boolean;
  lastUsed: number;
}

/** Dropped events of one object. */
interface DroppedEvents {
  count: number;
  reportedAt: number;
}

const MAX_MESSAGE = 1024;
const MAX_SERIES = 4096;
/** Maximum number of Events that wait to be sent. */
const MAX_QUEUED = { total: MAX_SERIES, perTenant: 1000 };
/** As in client-go's spam filter, each object may have `burst` events at once, and one more after each interval. */
const ORDINARY: Rate = { burst: 25, perSecond: 1 / 60 };
/** Warnings and other important events have their own budget, which ordinary events cannot use up. */
const IMPORTANT: Rate = { burst: 50, perSecond: 1 / 20 };
const DROPPED = 'EventsLeftOut';
const DROPPED_MESSAGE =
  'events about this object were dropped because there were too many in a short time; see its status for the current state';
/** Interval between Events about dropped events. */
const DROPPED_INTERVAL_MS = 60_000;
/** The API server deletes Events after an hour. An older series than this starts over with a new Event. */
const SERIES_TTL_MS = 10 * 60_000;

/**
 * Records Kubernetes Events about objects, as shown by `kubectl describe`. Best effort: an event that cannot be sent
 * is dropped and logged at debug level, and no code waits for it. When an object exceeds its budget, its events are
 * dropped, and one Event reports how many.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #series = new Map<string, Series>();
  readonly #ordinary = new TokenBuckets(ORDINARY, MAX_SERIES);
  readonly #important = new TokenBuckets(IMPORTANT, MAX_SERIES);
  readonly #dropped = new Map<string, DroppedEvents>();
  /** One Event at a time, in turns between tenants. */
  readonly #sending = new FairLimiter({ total: 1 });
  readonly #sends = new Set<Promise<void>>();
  #serial = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Returns at once, never throws. A repetition of reason and message increases the count of the same Event. */
  record(object: KubeObject, type: EventType, reason: string, message: string): void {
    const text = message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message;
    const isImportant = type === 'Warning' || this.#options.important?.has(reason) === true;
    const budget = isImportant ? this.#important : this.#ordinary;
    if (budget.take(identityOf(object), this.#clock.now()) > 0) {
      this.#options.logger.debug(
        { kind: object.kind, reason },
        'too many events about one object; dropping an event',
      );
      this.#drop(object);
      return;
    }
    this.#count(this.#seriesOf(object, type, reason, text), 1);
  }

  #count(series: Series, times: number): void {
    series.count += times;
    series.lastAt = this.#clock.date();
    if (series.queued) return;
    const tenant = currentTenant();
    if (
      this.#sending.waiting >= MAX_QUEUED.total ||
      this.#sending.waitingOf(tenant) >= MAX_QUEUED.perTenant
    ) {
      this.#options.logger.debug(
        { reason: series.reason },
        'too many events are waiting to be sent; dropping an event',
      );
      return;
    }
    series.queued = true;
    // The writes of Events do not count for a tenant, because nothing waits for them.
    const send = this.#sending.run(tenant, () => onBehalfOf(NO_TENANT, () => this.#deliver(series)));
    this.#sends.add(send);
    void send.finally(() => this.#sends.delete(send));
  }

  /** Resolves when all events that were recorded so far are sent or dropped. */
  async flush(): Promise<void> {
    await Promise.all(this.#sends);
  }

  /**
   * Reports the number of dropped events as the count of one Event. Sends this Event at once, then at most once a
   * minute.
   */
  #drop(object: KubeObject): void {
    const id = identityOf(object);
    const now = this.#clock.now();
    const before = this.#dropped.get(id) ?? { count: 0, reportedAt: Number.NEGATIVE_INFINITY };
    const count = before.count + 1;
    const isDue = now - before.reportedAt >= DROPPED_INTERVAL_MS;
    this.#dropped.delete(id);
    this.#dropped.set(id, isDue ? { count: 0, reportedAt: now } : { ...before, count });
    dropOldest(this.#dropped, MAX_SERIES);
    if (isDue) this.#count(this.#seriesOf(object, 'Warning', DROPPED, DROPPED_MESSAGE), count);
  }

  /** The current series of this event, or a new series. */
  #seriesOf(object: KubeObject, type: EventType, reason: string, message: string): Series {
    const now = this.#clock.now();
    const key = JSON.stringify([identityOf(object), type, reason, message]);
    const known = this.#series.get(key);
    this.#series.delete(key);
    if (known !== undefined && now - known.lastUsed < SERIES_TTL_MS) {
      known.lastUsed = now;
      this.#series.set(key, known);
      return known;
    }
    const date = this.#clock.date();
    const fresh = {
      object,
      type,
      reason,
      message,
      count: 0,
      firstAt: date,
      lastAt: date,
      queued: false,
      lastUsed: now,
    };
    this.#series.set(key, fresh);
    dropOldest(this.#series, MAX_SERIES);
    return fresh;
  }

  /** Never throws. */
  async #deliver(series: Series): Promise<void> {
    // Events that are recorded in the same turn are counted together.
    await Promise.resolve();
    series.queued = false;
    try {
      await this.#send(series);
    } catch (error) {
      const { reason, object } = series;
      this.#options.logger.debug(
        { reason, kind: object.kind, error: toKubeError(error).message },
        'event dropped',
      );
    }
  }

  async #send(series: Series): Promise<void> {
    if (series.at !== undefined) {
      const change = { count: series.count, lastTimestamp: seconds(series.lastAt) };
      try {
        await this.#options.client.patch(RESOURCES.Event, series.at, change);
        return;
      } catch (error) {
        if (!isKubeError(error, 'not_found')) throw error;
        // The server has deleted the Event, so a new Event is created.
        series.at = undefined;
        series.firstAt = series.lastAt;
        series.count = 1;
      }
    }
    const event = this.#eventOf(series);
    await this.#options.client.create(event);
    series.at = { namespace: event.metadata.namespace ?? 'default', name: event.metadata.name };
  }

  #eventOf({ object, type, reason, message, count, firstAt, lastAt }: Series): EventObject {
    const { component, instance } = this.#options;
    const { name, namespace, uid, resourceVersion } = object.metadata;
    this.#serial += 1;
    const suffix = `${this.#clock.date().getTime().toString(16)}${this.#serial.toString(16).padStart(4, '0')}`;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      // Like Kubernetes itself, Berth creates Events about cluster-scoped objects in `default`.
      metadata: { name: `${name}.${suffix}`, namespace: namespace ?? 'default' },
      involvedObject: {
        apiVersion: object.apiVersion,
        kind: object.kind,
        name,
        namespace,
        uid,
        resourceVersion,
      },
      type,
      reason,
      message,
      count,
      firstTimestamp: seconds(firstAt),
      lastTimestamp: seconds(lastAt),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance ?? component,
    };
  }
}

function identityOf({ kind, metadata: { uid, namespace, name } }: KubeObject): string {
  return uid ?? `${kind}/${namespace}/${name}`;
}

/** metav1.Time has no fractions of a second. */
function seconds(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Maps keep insertion order, so the first entry is the least recently used. */
function dropOldest(map: Map<string, unknown>, limit: number): void {
  for (const key of map.keys()) {
    if (map.size <= limit) return;
    map.delete(key);
  }
}
