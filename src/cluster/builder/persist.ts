import { setTimeout as sleep } from 'node:timers/promises';
import { StepFailure } from './step-failure.ts';

const ATTEMPTS = 3;
const PAUSE_MS = 2_000;

/** Retries transient failures until the deadline. Each attempt receives the milliseconds that are left. */
export async function persist<T>(
  attempt: (timeoutMs: number) => Promise<T>,
  timeoutMs: number,
  log: (line: string) => void,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt(Math.max(1, deadline - Date.now()));
    } catch (error) {
      const pause = PAUSE_MS * tried;
      const mayPass = error instanceof StepFailure && error.passing && tried < ATTEMPTS;
      if (!mayPass || Date.now() + pause >= deadline) throw error;
      log(`${error.message}; retrying`);
      await sleep(pause);
    }
  }
}
