import type { Readable } from 'node:stream';
import type { WatchEvent, WatchOptions } from './client-types.ts';
import { KubeError, type Status, statusError, toKubeError } from './errors.ts';
import type { HttpCall, HttpExecutor } from './http-executor.ts';
import { LineSplitter } from './json-lines.ts';
import type { KubeObject } from './object.ts';
import { type Resource, resourcePath } from './resources.ts';

/** The client's own deadline stands this long behind the one it asked the server for. */
const OVERTIME_MS = 15_000;
/** Without a resourceVersion: as recent as a list would be. */
const WITH_INITIAL_EVENTS = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } as const;

/** What `onEvent` returns to end the watch in order. */
export const ENOUGH = Symbol('enough');

/**
 * One watch, from its request to its end. Resolves when the server ends it in order or cuts it between or within lines
 * (go on from the last resource version), a list of initial events when `onEvent` says so; fails with a KubeError for an HTTP error, an ERROR event (410 is `gone`), a
 * line that is no event, silence longer than `idleTimeoutMs` (`timeout`), or the signal (`aborted`).
 */
export async function openWatch<T extends KubeObject>(
  http: HttpExecutor,
  resource: Resource,
  options: WatchOptions,
  onEvent: (event: WatchEvent<T>) => unknown,
): Promise<void> {
  const { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds } = options;
  const verb = options.initialEvents ? 'list' : 'watch';
  const action = `${verb} ${resource.plural}${namespace ? ` in ${namespace}` : ''}`;
  const ending = new AbortController();
  const onAbort = () =>
    ending.abort(new KubeError({ kind: 'aborted', message: `failed to ${action}: aborted` }));
  if (options.signal?.aborted) onAbort();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  const overtime = setTimeout(
    () =>
      ending.abort(
        new KubeError({ kind: 'timeout', message: `failed to ${action}: the server did not end it` }),
      ),
    timeoutSeconds * 1000 + OVERTIME_MS,
  );
  const { idleTimeoutMs, initialEvents = false } = options;
  const call: HttpCall = {
    method: 'GET',
    path: resourcePath(resource, { namespace }),
    query: {
      watch: true,
      allowWatchBookmarks: true,
      labelSelector,
      fieldSelector,
      resourceVersion,
      timeoutSeconds,
      ...(initialEvents ? WITH_INITIAL_EVENTS : {}),
    },
    action,
    verb,
    resource: resource.plural,
    // A list has for its head what it has for each page.
    ...(initialEvents ? { timeoutMs: idleTimeoutMs } : {}),
  };
  const read = async (body: Readable) => {
    options.onOpen?.();
    const reading = { action, idleTimeoutMs, ending, onEvent, needsObjects: initialEvents };
    const hadEnough = await readEvents(body, reading);
    if (!initialEvents || hadEnough) return;
    const message = `failed to ${action}: the stream ended before all of it had come`;
    throw new KubeError({ kind: 'network', message });
  };
  try {
    if (initialEvents) await http.read(call, ending.signal, read);
    else await read(await http.open(call, ending.signal));
  } finally {
    clearTimeout(overtime);
    options.signal?.removeEventListener('abort', onAbort);
  }
}

interface Reading<T extends KubeObject> {
  action: string;
  idleTimeoutMs: number;
  ending: AbortController;
  onEvent: (event: WatchEvent<T>) => unknown;
  /** Bookmarks are no signs of life: what is waited for are objects. */
  needsObjects: boolean;
}

/** Whether `onEvent` has ended it; false: it came to its end. */
function readEvents<T extends KubeObject>(body: Readable, reading: Reading<T>): Promise<boolean> {
  const { action, idleTimeoutMs, ending, onEvent, needsObjects } = reading;
  return new Promise((resolve, reject) => {
    let over = false;
    const finish = (error?: unknown, hadEnough = false) => {
      if (over) return;
      over = true;
      clearTimeout(idle);
      ending.signal.removeEventListener('abort', onEnding);
      body.destroy();
      if (error === undefined) resolve(hadEnough);
      else reject(error);
    };
    const onEnding = () => finish(ending.signal.reason);
    const idle = setTimeout(
      () =>
        finish(
          new KubeError({ kind: 'timeout', message: `failed to ${action}: silent for ${idleTimeoutMs} ms` }),
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
    if (ending.signal.aborted) onEnding();
    else ending.signal.addEventListener('abort', onEnding, { once: true });
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
    throw new KubeError({ kind: 'network', message: `failed to ${action}: a line is no watch event` });
  }
  return event as WatchEvent<T>;
}
