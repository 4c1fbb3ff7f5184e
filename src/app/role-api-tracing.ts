import { openDatabase } from '../hub/store/core/database.ts';
import { createTracingBackend } from '../hub/tracing/backend.ts';
import { tracingMetrics } from '../hub/tracing/metrics.ts';
import { startTracingSender, type TracingSender } from '../hub/tracing/sender.ts';
import type { RoleContext } from './role.ts';

const NONE: TracingSender = { wake: () => undefined, stop: async () => undefined };

/** A separate connection pool, so that a long backlog does not take connections from requests. */
const POOL_SIZE = 2;

/** Starts sending tracing projects to the tracing backend, if one is configured. */
export function startTracing({ config, logger, metrics }: RoleContext, databaseUrl: string): TracingSender {
  if (config.tracing === null) return NONE;
  const database = openDatabase({ url: databaseUrl, poolSize: POOL_SIZE, logger });
  const sender = startTracingSender({
    database,
    backend: createTracingBackend(config.tracing),
    logger,
    onAttempt: tracingMetrics(metrics.registry, database),
  });
  return {
    wake: sender.wake,
    async stop() {
      await sender.stop();
      await database.close();
    },
  };
}
