import type { Readable } from 'node:stream';
import type { HttpCall, HttpExecutor } from '../transport/http-executor.ts';
import { LineSplitter } from '../transport/json-lines.ts';
import type { Selection, WatchEvent, WatchOptions } from './client-types.ts';
import { KubeError, type Status, statusError, toKubeError } from './errors.ts';
import type { KubeObject } from './object.ts';
import { type Resource, resourcePath } from './resources.ts';

/** Time by which the client's deadline is later than the deadline that it requests from the server. */
const OVERTIME_MS = 15_000;

/** `onEvent` returns this to end the stream regularly. */
export const ENOUGH = Symbol('enough');

/**
 * One watch, from its request to its end. Resolves when the server ends the watch or the connection breaks. The caller
 * then continues from the last resource version. Fails with a KubeError for an HTTP error, an ERROR event (410 is
 * `gone`), an invalid line, silence longer than `idleTimeoutMs` (`timeout`), or the signal (`aborted`).
 */
export async function openWatch<T extends KubeObject>(
  http: HttpExecutor,
  resource: Resource,
  options: WatchOptions,
  onEvent: (event: WatchEvent<T>) => void,
): Promise<void> {
  const { resourceVersion, idleTimeoutMs, onOpen } = options;
  await withEventStream('watch', resource, options, { resourceVersion }, async (call, ending) => {
    const body = await http.open(call, ending);
    onOpen?.();
    await readEvents<T>(body, { action: call.action, idleTimeoutMs, ending, onEvent });
  });
}

/**
 * Calls `use` with a call that requests a stream of events, and with a signal that ends the stream. The signal fires
 * with the caller's signal, and at the deadline if the server does not end the stream in time.
 * @param query in addition to the parameters that all such calls share
 */
export async function withEventStream(
  verb: 'list' | 'watch',
  resource: Resource,
  options: Pick<WatchOptions, keyof Selection | 'timeoutSeconds' | 'signal'>,
  query: HttpCall['query'],
  use: (call: HttpCall, ending: AbortSignal) => Promise<void>,
): Promise<void> {
  const { namespace, labelSelector, fieldSelector, timeoutSeconds } = options;
  const action = `${verb} ${resource.plural}${namespace ? ` in ${namespace}` : ''}`;
  const ending = new AbortController();
  const onAbort = () =>
    ending.abort(new KubeError({ kind: 'aborted', message: `failed to ${action}: aborted` }));
  if (options.signal?.aborted) onAbort();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  const overtime = setTimeout(
    () =>
      ending.abort(
        new KubeError({
          kind: 'timeout',
          message: `failed to ${action}: the server did not end the stream in time`,
        }),
      ),
    timeoutSeconds * 1000 + OVERTIME_MS,
  );
  const call: HttpCall = {
    method: 'GET',
    path: resourcePath(resource, { namespace }),
    query: { watch: true, allowWatchBookmarks: true, labelSelector, fieldSelector, timeoutSeconds, ...query },
    action,
    verb,
    resource: resource.plural,
  };
  try {
    await use(call, ending.signal);
  } finally {
    clearTimeout(overtime);
    options.signal?.removeEventListener('abort', onAbort);
  }
}

interface Reading<T extends KubeObject> {
  action: string;
  idleTimeoutMs: number;
  ending: AbortSignal;
  onEvent: (event: WatchEvent<T>) => unknown;
  /** Only objects reset the idle timer, not bytes and bookmarks. */
  needsObjects?: boolean;
}

/** Whether `onEvent` has ended the stream; false: the stream ended by itself. */
export function readEvents<T extends KubeObject>(body: Readable, reading: Reading<T>): Promise<boolean> {
  const { action, idleTimeoutMs, ending, onEvent, needsObjects = false } = reading;
  return new Promise((resolve, reject) => {
    let over = false;
    const finish = (error?: unknown, hadEnough = false) => {
      if (over) return;
      over = true;
      clearTimeout(idle);
      ending.removeEventListener('abort', onEnding);
      body.destroy();
      if (error === undefined) resolve(hadEnough);
      else reject(error);
    };
    const onEnding = () => finish(ending.reason);
    const idle = setTimeout(
      () =>
        finish(
          new KubeError({ kind: 'timeout', message: `failed to ${action}: no data for ${idleTimeoutMs} ms` }),
        ),
      idleTimeoutMs,
    );
    const lines = new LineSplitter((line) => {
      if (over) return;
      const event = parseEvent<T>(line, action);
      if (needsObjects && event.type !== 'BOOKMARK') idle.refresh();
      if (onEvent(event) === ENOUGH) finish(undefined, true);
    });
    body.on('data', (chunk: Buffer) => {
      if (!needsObjects) idle.refresh();
      try {
        lines.push(chunk);
      } catch (error) {
        finish(error);
      }
    });
    body.once('end', () => finish());
    body.on('error', (error) => finish(toKubeError(error, action)));
    body.once('close', () => finish());
    if (ending.aborted) onEnding();
    else ending.addEventListener('abort', onEnding, { once: true });
  });
}

function parseEvent<T extends KubeObject>(line: string, action: string): WatchEvent<T> {
  let event: { type?: string; object?: unknown };
  try {
    event = JSON.parse(line) as typeof event;
  } catch (error) {
    throw new KubeError({
      kind: 'network',
      message: `failed to ${action}: a line is not JSON`,
      cause: error,
    });
  }
  if (event.type === 'ERROR') {
    const status = (event.object ?? {}) as Status;
    throw statusError(action, status.code ?? 500, status);
  }
  if (typeof event.type !== 'string' || typeof event.object !== 'object' || event.object === null) {
    throw new KubeError({ kind: 'network', message: `failed to ${action}: a line is not a watch event` });
  }
  return event as WatchEvent<T>;
}
