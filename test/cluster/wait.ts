import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** Milliseconds after which the wait fails. */
  timeoutMs: number;
  /** Milliseconds between two looks. */
  intervalMs?: number;
  /** Called before each look; throws to give up early (a process has died, say). */
  giveUpIf?: () => void;
  /** The time is a bound that is tested, and not patience: what comes after it counts as nothing. */
  strict?: boolean;
}

/**
 * Looks again and again until `check` gives something other than undefined or false.
 * @throws Error "failed to wait for <what>: …" with the last cause once the time is over
 */
export async function waitFor<T>(
  what: string,
  check: () => Promise<T | undefined | false>,
  options: WaitOptions,
): Promise<T> {
  const deadline = Date.now() + options.timeoutMs;
  let cause: unknown;
  for (;;) {
    options.giveUpIf?.();
    try {
      const result = await check();
      const isLate = options.strict === true && Date.now() > deadline;
      if (result !== undefined && result !== false && !isLate) return result;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > deadline) {
      const reason = cause instanceof Error ? `: ${cause.message}` : '';
      throw new Error(`failed to wait for ${what} within ${options.timeoutMs / 1000} s${reason}`, { cause });
    }
    await delay(options.intervalMs ?? 50);
  }
}
