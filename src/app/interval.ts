import type { Logger } from '../domain/core/logger.ts';

export interface Repetition {
  /** What is done, as in "failed to …". */
  readonly what: string;
  readonly everyMs: number;
  /** Until the first time. Default: `everyMs`. */
  readonly firstMs?: number;
  readonly logger: Logger;
}

/**
 * Runs `work` again and again, never twice at a time; a failure is logged and waits for the next time.
 * @returns the function that ends it
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
      .catch((error) => logger.warn({ err: String(error) }, `failed to ${what}; tried again`))
      .finally(() => {
        running = false;
      });
  }
  // It ends a timeout and an interval alike.
  return () => clearTimeout(timer);
}
