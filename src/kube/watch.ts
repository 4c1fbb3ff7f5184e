import type { Readable } from 'node:stream';
import type { WatchEvent, WatchOptions } from './client-types.ts';
import { KubeError, type Status, statusError, toKubeError } from './errors.ts';
import type { HttpExecutor } from './http-executor.ts';
import { LineSplitter } from './json-lines.ts';
import type { KubeObject } from './object.ts';
import { type Resource, resourcePath } from './resources.ts';

/** The client's own deadline stands this long behind the one it asked the server for. */
const OVERTIME_MS = 15_000;
/** Without a resourceVersion: as recent as a list would be. */
const WITH_INITIAL_EVENTS = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } as const;

/**
 * One watch, from its request to its end. Resolves when the server ends it in order or cuts it between or within lines
 * (go on from the last resource version); fails with a KubeError for an HTTP error, an ERROR event (410 is `gone`), a
 * line that is no event, silence longer than `idleTimeoutMs` (`timeout`), or the signal (`aborted`).
 */
export async function openWatch<T extends KubeObject>(
  http: HttpExecutor,
  resource: Resource,
  options: WatchOptions,
  onEvent: (event: WatchEvent<T>) => void,
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
  try {
    const body = await http.open(
      {
        method: 'GET',
        path: resourcePath(resource, { namespace }),
        query: {
          watch: true,
          allowWatchBookmarks: true,
          labelSelector,
          fieldSelector,
          resourceVersion,
          timeoutSeconds,
          ...(options.initialEvents ? WITH_INITIAL_EVENTS : {}),
        },
        action,
        verb,
        resource: resource.plural,
      },
      ending.signal,
    );
    options.onOpen?.();
    await readEvents(body, { action, idleTimeoutMs: options.idleTimeoutMs, ending, onEvent });
  } finally {
    clearTimeout(overtime);
    options.signal?.removeEventListener('abort', onAbort);
  }
}

interface Reading<T extends KubeObject> {
  action: string;
  idleTimeoutMs: number;
  ending: AbortController;
  onEvent: (event: WatchEvent<T>) => void;
}

function readEvents<T extends KubeObject>(body: Readable, reading: Reading<T>): Promise<void> {
  const { action, idleTimeoutMs, ending, onEvent } = reading;
  return new Promise((resolve, reject) => {
    let over = false;
    const finish = (error?: unknown) => {
      if (over) return;
      over = true;
      clearTimeout(idle);
      ending.signal.removeEventListener('abort', onEnding);
      body.destroy();
      if (error === undefined) resolve();
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
      if (!over) onEvent(parseEvent<T>(line, action));
    });
    body.on('data', (chunk: Buffer) => {
      idle.refresh();
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
