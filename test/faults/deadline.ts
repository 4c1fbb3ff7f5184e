/** Deadlines for operations that may hang. */
import { setTimeout as sleep } from 'node:timers/promises';

/** @throws Error if `work` is not settled after `seconds` */
export async function within<T>(seconds: number, what: string, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const deadline = sleep(seconds * 1000, undefined, { signal: over.signal }).then(() => {
    throw new Error(`${what} did not end within ${seconds} s`);
  });
  deadline.catch(() => undefined);
  try {
    return await Promise.race([work, deadline]);
  } finally {
    over.abort();
  }
}

export const reasonOf = (error: unknown) => String(error instanceof Error ? error.message : error);
