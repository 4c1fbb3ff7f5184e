import type { Config } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import type { RecordSpan } from '../domain/core/span.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** A running role. */
export interface RunningRole {
  /** Why the role is not ready. null: it is ready. */
  notReady(): Promise<string | null> | string | null;
  /** Stops gracefully. Resolves when everything has stopped. */
  stop(): Promise<void>;
  /** Rejects with the reason when the role fails. */
  readonly failed: Promise<never>;
}

/** Rejects when `ended` rejects, and never resolves. An early rejection does not count as unhandled. */
export function untilFailure(ended: Promise<void>): Promise<never> {
  const failed = ended.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  return failed;
}

/** Dependencies of every role. */
export interface RoleContext {
  readonly config: Config;
  readonly logger: Logger;
  readonly version: string;
  readonly metrics: Metrics;
  /** Records the spans of changes. Absent: tracing is disabled. */
  readonly span: RecordSpan | undefined;
  /** Aborted when the process receives a stop signal, so that waits during startup end. */
  readonly stopping: AbortSignal;
}
