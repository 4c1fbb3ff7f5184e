import type { Config } from '../config/index.ts';
import type { Logger } from '../domain/core/logger.ts';
import type { TellSpan } from '../domain/core/span.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** A running role. */
export interface RunningRole {
  /** Why it cannot work at the moment; null: it can. */
  notReady(): Promise<string | null> | string | null;
  /** Ends it in order; resolves when nothing of it runs any more. */
  stop(): Promise<void>;
  /** Rejects when the role ended by itself, with the reason. */
  readonly failed: Promise<never>;
}

/** Rejects when `ended` does; never resolves. An early failure does not count as unhandled. */
export function untilFailure(ended: Promise<void>): Promise<never> {
  const failed = ended.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  return failed;
}

/** What every role is given. */
export interface RoleContext {
  readonly config: Config;
  readonly logger: Logger;
  readonly version: string;
  readonly metrics: Metrics;
  /** Takes spans of what is done for changes; absent: nobody asks for them. */
  readonly span: TellSpan | undefined;
  /** Aborted when the process is asked to stop: what waits at the start ends then. */
  readonly stopping: AbortSignal;
}
