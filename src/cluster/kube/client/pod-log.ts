import type { HttpExecutor } from '../transport/http-executor.ts';
import type { LogOptions } from './client-types.ts';
import { toKubeError } from './errors.ts';
import { type LogLine, LogLines } from './log-lines.ts';
import { keyOf, type ObjectName } from './object.ts';
import { RESOURCES, resourcePath } from './resources.ts';

/**
 * The log of one container, line by line. The iteration ends with the log, or when the caller stops. The iteration
 * fails with a KubeError, including `aborted`.
 */
export async function* readLog(
  http: HttpExecutor,
  at: ObjectName,
  { container, since, tail, follow, previous, signal, timeoutMs }: LogOptions,
): AsyncGenerator<LogLine> {
  const action = `read the log of ${container} in Pod ${keyOf(at)}`;
  const ending = new AbortController();
  const onAbort = () => ending.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  const lines = new LogLines(new Date().toISOString());
  try {
    const body = await http.open(
      {
        method: 'GET',
        path: resourcePath(RESOURCES.Pod, { ...at, subresource: 'log' }),
        query: {
          container,
          timestamps: true,
          sinceTime: since,
          tailLines: tail,
          follow: follow || undefined,
          previous: previous || undefined,
        },
        action,
        verb: 'get',
        resource: 'pods/log',
        timeoutMs,
      },
      ending.signal,
    );
    for await (const chunk of body) yield* lines.push(chunk as Buffer);
    yield* lines.end();
  } catch (error) {
    throw toKubeError(error, action);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    // Ends the stream when the caller stops iterating.
    ending.abort();
  }
}
