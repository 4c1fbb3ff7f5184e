import { Counter, Gauge, type Registry } from 'prom-client';
import type { Database } from '../store/core/database.ts';
import { readBacklog } from '../store/tenancy/outbox.ts';
import type { AttemptOutcome } from './sender.ts';

/**
 * Registers the metrics of the outbox: the pending messages, which are read from the database on scrape (equal in all
 * replicas), and the attempts of this process.
 * @returns a function that counts an attempt
 */
export function tracingMetrics(
  registry: Registry,
  database: Pick<Database, 'platform'>,
): (outcome: AttemptOutcome) => void {
  const pending = new Gauge({
    name: 'berth_tracing_outbox_pending',
    help: 'Messages that the tracing backend has not accepted yet, of all replicas.',
    registers: [registry],
    async collect() {
      try {
        const backlog = await database.platform.read(readBacklog);
        pending.set(backlog.pending);
        oldest.set(backlog.oldestSeconds);
      } catch {
        // Without the database, metrics of the tracing outbox are unknown. All other metrics are still exported.
        pending.set(Number.NaN);
        oldest.set(Number.NaN);
      }
    },
  });
  const oldest = new Gauge({
    name: 'berth_tracing_outbox_oldest_seconds',
    help: 'Age of the oldest waiting message in seconds. 0: no message waits.',
    registers: [registry],
  });
  const attempts = new Counter({
    name: 'berth_tracing_attempts_total',
    help: 'Messages that this process sent to the tracing backend, by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return (outcome) => attempts.inc({ outcome });
}
