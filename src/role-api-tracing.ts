import type { RoleContext } from './role.ts';
import type { Database } from './store/database.ts';
import { createTracingBackend } from './tracing/backend.ts';
import { tracingMetrics } from './tracing/metrics.ts';
import { startTracingSender, type TracingSender } from './tracing/sender.ts';

const NONE: TracingSender = { wake: () => undefined, stop: async () => undefined };

/** Starts telling the tracing backend of projects, where the configuration names one. */
export function startTracing({ config, logger, metrics }: RoleContext, database: Database): TracingSender {
  if (config.tracing === null) return NONE;
  return startTracingSender({
    database,
    backend: createTracingBackend(config.tracing),
    logger,
    onAttempt: tracingMetrics(metrics, database),
  });
}
