import type { Logger } from '../domain/core/logger.ts';

export interface Repetition {
  /** The action, for the message "failed to …". */
  readonly what: string;
  readonly everyMs: number;
  /** Delay of the first run. Default: `everyMs`. */
  readonly firstMs?: number;
  readonly logger: Logger;
}

/**
 * Runs `work` at an interval. Runs never overlap. A failure is logged, and the next run retries.
 * @returns the function that stops it
 */
export function repeat(
  { what, everyMs, firstMs = everyMs, logger }: Repetition,
  work: () => Promise<unknown>,
): () => void {
  let running = false;
  let timer = setTimeout(() => {
    run();
    timer = setInterval(run, everyMs);
  }, firstMs);
  function run(): void {
    if (running) return;
    running = true;
    work()
      .catch((error) => logger.warn({ err: String(error) }, `failed to ${what}; next: none, it is retried`))
      .finally(() => {
        running = false;
      });
  }
  // clearTimeout also clears an interval.
  return () => clearTimeout(timer);
}
