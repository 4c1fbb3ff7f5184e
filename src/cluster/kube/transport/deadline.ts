import { KubeError } from '../client/errors.ts';

/**
 * Runs `task` with a signal that fires at the deadline or when the caller's signal does. After the signal has fired,
 * the call fails with a KubeError of kind `timeout` or `aborted`, whatever the task throws.
 */
export async function withDeadline<T>(
  action: string,
  timeoutMs: number,
  outer: AbortSignal | undefined,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController();
  const onTimeout = () =>
    inner.abort(
      new KubeError({ kind: 'timeout', message: `failed to ${action}: no response within ${timeoutMs} ms` }),
    );
  const onAbort = () =>
    inner.abort(
      new KubeError({ kind: 'aborted', message: `failed to ${action}: aborted`, cause: outer?.reason }),
    );
  if (outer?.aborted) onAbort();
  else outer?.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(onTimeout, timeoutMs);
  try {
    inner.signal.throwIfAborted();
    return await task(inner.signal);
  } catch (error) {
    throw inner.signal.aborted ? inner.signal.reason : error;
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', onAbort);
  }
}
