import { Counter, Gauge, type Registry } from 'prom-client';
import type { Database } from '../store/core/database.ts';
import { type OutboxBacklog, readBacklog } from '../store/tenancy/outbox.ts';
import type { AttemptOutcome } from './sender.ts';

/** Registers a gauge that is read on scrape. A value of null is not exported. */
function backlogGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Promise<number | null>,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      // Without the database, metrics of the tracing outbox are unknown. All other metrics are still exported.
      const value = await read().catch(() => null);
      if (value === null) this.remove();
      else this.set(value);
    },
  });
}

/** Calls that arrive while a read is in progress share its result, so that a scrape reads the database once. */
function shared(read: () => Promise<OutboxBacklog>): () => Promise<OutboxBacklog> {
  let reading: Promise<OutboxBacklog> | undefined;
  return () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}

/**
 * Registers the metrics of the outbox: the pending messages, which are read from the database on scrape (equal in all
 * replicas), and the attempts of this process.
 * @returns a function that counts an attempt
 */
export function tracingMetrics(
  registry: Registry,
  database: Pick<Database, 'platform'>,
): (outcome: AttemptOutcome) => void {
  const backlog = shared(() => database.platform.read(readBacklog));
  backlogGauge(
    registry,
    'berth_tracing_outbox_pending',
    'Messages that the tracing backend has not accepted yet, of all replicas.',
    async () => (await backlog()).pending,
  );
  backlogGauge(
    registry,
    'berth_tracing_outbox_oldest_timestamp_seconds',
    'Creation time of the oldest message that waits. Absent: no message waits.',
    async () => (await backlog()).oldestAt,
  );
  const attempts = new Counter({
    name: 'berth_tracing_attempts_total',
    help: 'Messages that this process sent to the tracing backend, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return (outcome) => attempts.inc({ outcome });
}
