import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** Milliseconds after which the wait fails. */
  timeoutMs: number;
  /** Milliseconds between two checks. */
  intervalMs?: number;
  /** Called before each check. Throws to end the wait early, for example if a process has ended. */
  giveUpIf?: () => void;
  /** Whether the timeout is a limit that is tested. Then a success after it does not count. */
  strict?: boolean;
}

/**
 * Calls `check` repeatedly until it returns a value other than undefined or false.
 * @throws Error "failed to wait for <what>: …" with the last error, after the timeout
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
