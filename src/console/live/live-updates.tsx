import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { sessionQuery } from '../session/session-query.ts';
import { combined, isAffected } from './affected.ts';
import { SILENCE_MS } from './read-stream.ts';
import { requestAgain } from './request-again.ts';
import { watchShared } from './shared-stream.ts';
import type { Hint } from './watch-items.ts';

/** Keeps what is shown up to date: by the stream of changes, or by polling while the stream is down. */

/** `live`: changes arrive. `down`: they do not, so everything is requested at intervals. */
export type Connection = 'connecting' | 'live' | 'down';

const POLL_MS = 10_000;
/** Hints that arrive within this time are handled together. */
const GATHER_MS = 150;

type Listener = (hints: readonly Hint[]) => void;

interface Live {
  readonly connection: Connection;
  /** Calls back for each group of hints. Returns a function that stops this. */
  readonly listen: (listener: Listener) => () => void;
}

const LiveContext = createContext<Live>({ connection: 'connecting', listen: () => () => undefined });

export const useConnection = (): Connection => useContext(LiveContext).connection;

/** Calls back when something of the tenant has changed. Queries with keys of api/keys.ts do not need this. */
export function useHints(listener: Listener): void {
  const { listen } = useContext(LiveContext);
  useEffect(() => listen(listener), [listen, listener]);
}

/** Gathers hints for a moment. */
function gather(handle: Listener): { add: (hint: Hint) => void; stop: () => void } {
  let waiting: Hint[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    add(hint) {
      waiting.push(hint);
      timer ??= setTimeout(() => {
        const hints = combined(waiting);
        waiting = [];
        timer = undefined;
        handle(hints);
      }, GATHER_MS);
    },
    stop: () => clearTimeout(timer),
  };
}

interface LiveUpdatesProps {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly children: ReactNode;
}

export function LiveUpdates({ tenantId, sessionId, children }: LiveUpdatesProps) {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>('connecting');
  const listeners = useMemo(() => new Set<Listener>(), []);

  useEffect(() => {
    setConnection('connecting');
    const handle: Listener = (hints) => {
      for (const hint of hints) requestAgain(client, (key) => isAffected(key, tenantId, hint));
      for (const listener of listeners) listener(hints);
    };
    let isLive = false;
    const gathered = gather(handle);
    let silence: ReturnType<typeof setTimeout>;
    const expectLine = () => {
      clearTimeout(silence);
      silence = setTimeout(() => {
        isLive = false;
        setConnection('down');
      }, SILENCE_MS);
    };
    expectLine();
    const stop = watchShared(tenantId, sessionId, {
      hint: gathered.add,
      alive: () => {
        // Changes may have been missed before the first line, which is not a reset if another tab reads the stream.
        if (!isLive) gathered.add({ type: 'reset' });
        isLive = true;
        setConnection('live');
        expectLine();
      },
      down: () => {
        isLive = false;
        setConnection('down');
      },
      denied: () => void client.invalidateQueries({ queryKey: sessionQuery.queryKey }),
    });
    return () => {
      stop();
      gathered.stop();
      clearTimeout(silence);
    };
  }, [client, listeners, tenantId, sessionId]);

  useEffect(() => {
    if (connection !== 'down') return;
    const poll = () => requestAgain(client, (key) => isAffected(key, tenantId, { type: 'reset' }));
    poll();
    const timer = setInterval(poll, POLL_MS);
    return () => clearInterval(timer);
  }, [client, connection, tenantId]);

  const live = useMemo<Live>(
    () => ({
      connection,
      listen: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
    [connection, listeners],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}
