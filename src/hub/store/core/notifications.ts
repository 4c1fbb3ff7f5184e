import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../../../domain/core/logger.ts';
import { LOG_CHANNEL } from '../builds/build-logs.ts';
import { ACCESS_CHANNEL, CHANGE_CHANNEL, OUTBOX_CHANNEL, WORK_CHANNEL } from './channels.ts';
import { connectionConfig, describeTarget, limitSession } from './connection.ts';

export interface NotificationOptions {
  url: string;
  logger: Logger;
  /** Called with listeners that may have work. Each listener is included once, however many notifications arrived. */
  onWork(listenerIds: ReadonlySet<string>): void;
  /** Called when the outbox may have messages that do not come from work. */
  onOutbox?(): void;
  /** Called with revisions or log requests that have new log lines. Each revision or log request is included once. */
  onLogs?(ids: ReadonlySet<string>): void;
  /** Called with sessions, tokens and API keys that may have lost their rights. */
  onAccess?(ids: ReadonlySet<string>): void;
  /** Called with the payloads of changes, for streams of changes. Each payload is included once. */
  onChanges?(payloads: ReadonlySet<string>): void;
  /** Called when notifications may have been missed, and once at the start. The receiver must then poll. */
  onRescan(): void;
}

export interface Notifications {
  /** Resolves when LISTEN is active for the first time. */
  readonly armed: Promise<void>;
  close(): Promise<void>;
}

const BACKOFF_BASE_MS = 100;
const BACKOFF_CAP_MS = 10_000;
const PROBE_INTERVAL_MS = 30_000;
const PROBE_TIMEOUT_MS = 5_000;

/** Collects ids and passes them on together, in the next turn of the event loop. */
function coalesce(deliver: (ids: ReadonlySet<string>) => void): (id: string) => void {
  let collected: Set<string> | null = null;
  return (id) => {
    if (collected === null) {
      collected = new Set();
      setImmediate(() => {
        const ids = collected ?? new Set();
        collected = null;
        deliver(ids);
      });
    }
    collected.add(id);
  };
}

/** Ends when the connection is lost or does not respond to a probe, or when `signal` aborts. */
async function untilLost(client: pg.Client, signal: AbortSignal): Promise<void> {
  const lost = new AbortController();
  const stop = () => lost.abort();
  client.once('error', stop);
  client.once('end', stop);
  signal.addEventListener('abort', stop, { once: true });
  // The signal may have aborted while the connection was opened.
  if (signal.aborted) stop();
  try {
    while (!lost.signal.aborted) {
      await sleep(PROBE_INTERVAL_MS, undefined, { signal: lost.signal, ref: false });
      // A connection that was cut silently looks idle. Only a response proves that the connection works.
      await client.query('SELECT 1');
    }
  } catch {
    // A lost connection and the abort signal both end the wait.
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Listens for notifications of work on a dedicated connection, and reconnects with backoff after each loss.
 * Notifications only reduce latency. Callers must also poll.
 */
export function listenForWork(options: NotificationOptions): Notifications {
  const { url, logger } = options;
  const target = describeTarget(url);
  const closing = new AbortController();
  const notice = coalesce(options.onWork);
  const noticeLog = coalesce((ids) => options.onLogs?.(ids));
  const noticeAccess = coalesce((ids) => options.onAccess?.(ids));
  const noticeChange = coalesce((payloads) => options.onChanges?.(payloads));
  const notices: Readonly<Record<string, (id: string) => void>> = {
    [WORK_CHANNEL]: notice,
    [LOG_CHANNEL]: noticeLog,
    [ACCESS_CHANNEL]: noticeAccess,
    [CHANGE_CHANNEL]: noticeChange,
  };
  const { promise: armed, resolve: markArmed } = Promise.withResolvers<void>();

  /** The lifetime of one connection. @returns whether LISTEN was active */
  const session = async (): Promise<boolean> => {
    const client = new pg.Client(connectionConfig(url, PROBE_TIMEOUT_MS));
    client.on('error', (error) =>
      logger.debug({ target, err: error.message }, 'notification connection failed'),
    );
    client.on('notification', ({ channel, payload }) => {
      if (channel === OUTBOX_CHANNEL) options.onOutbox?.();
      else if (payload !== undefined) notices[channel]?.(payload);
    });
    try {
      await client.connect();
      await limitSession(client, PROBE_TIMEOUT_MS);
      const channels = [WORK_CHANNEL, OUTBOX_CHANNEL, LOG_CHANNEL, ACCESS_CHANNEL, CHANGE_CHANNEL];
      await client.query(channels.map((channel) => `LISTEN ${channel}`).join('; '));
      markArmed();
      // guard: rescan-after-listen
      options.onRescan();
      await untilLost(client, closing.signal);
      return true;
    } catch (error) {
      logger.warn({ target, err: String(error) }, 'failed to listen for notifications; polling continues');
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  };

  const run = async (): Promise<void> => {
    let failures = 0;
    while (!closing.signal.aborted) {
      failures = (await session()) ? 0 : failures + 1;
      if (closing.signal.aborted) return;
      if (failures === 0) logger.warn({ target }, 'lost the notification connection; reconnecting');
      const wait = Math.random() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** failures);
      await sleep(wait, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
    }
  };
  const running = run();

  return {
    armed,
    async close() {
      closing.abort();
      await running;
    },
  };
}
