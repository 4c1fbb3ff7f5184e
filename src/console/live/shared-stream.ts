import { consolePath } from '../app/addresses.ts';
import { readChanges, type StreamEvents } from './read-stream.ts';
import { type Hint, isHint } from './watch-items.ts';

/** One stream of changes for all tabs of a browser that show a tenant with the same session (docs/decisions/0134). */

type Message =
  | { readonly kind: 'alive' | 'down' | 'denied' }
  | { readonly kind: 'hint'; readonly hint: Hint };

function isMessage(data: unknown): data is Message {
  if (typeof data !== 'object' || data === null || !('kind' in data)) return false;
  return data.kind !== 'hint' || ('hint' in data && isHint(data.hint));
}

/** Passes a message to the handlers of this tab. */
function deliver(message: Message, events: StreamEvents): void {
  if (message.kind === 'hint') events.hint(message.hint);
  else events[message.kind]();
}

/** Reads the stream, and passes what happens to this tab and the others. */
function lead(tenantId: string, channel: BroadcastChannel, events: StreamEvents, signal: AbortSignal) {
  const share = (message: Message) => {
    channel.postMessage(message);
    deliver(message, events);
  };
  const shared: StreamEvents = {
    hint: (hint) => share({ kind: 'hint', hint }),
    alive: () => share({ kind: 'alive' }),
    down: () => share({ kind: 'down' }),
    denied: () => share({ kind: 'denied' }),
  };
  return readChanges(tenantId, shared, signal);
}

/** Starts to watch. Returns a function that stops it, so that another tab can read the stream. */
export function watchShared(tenantId: string, sessionId: string, events: StreamEvents): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const name = `berth-watch:${consolePath}:${tenantId}:${sessionId}`;
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (isMessage(data)) deliver(data, events);
  };
  signal.addEventListener('abort', () => channel.close());
  const read = () => lead(tenantId, channel, events, signal);
  const locks = (navigator as { locks?: LockManager }).locks;
  if (locks === undefined) void read();
  else
    locks.request(name, { signal }, read).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  return () => stop.abort();
}
