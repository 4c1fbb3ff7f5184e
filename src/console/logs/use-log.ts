import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { Problem } from '../api/problem.ts';
import { useSession } from '../session/session-gate.tsx';
import { sessionEnded } from '../session/session-query.ts';
import { isFollowed, type LogRequest, logPath } from './log-filters.ts';
import { buildPosition, podPosition } from './log-position.ts';
import { createLogStore, type LogSnapshot } from './log-store.ts';
import { followLog, readWholeLog } from './read-log.ts';

/** Reads the log that a request names, while the component is shown. Another request or session starts again. */
export function useLog(
  tenantId: string,
  deploymentId: string,
  request: LogRequest,
): LogSnapshot & { readonly restart: () => void } {
  const client = useQueryClient();
  const { id: sessionId } = useSession();
  const [attempt, setAttempt] = useState(0);
  const path = logPath(deploymentId, request);
  const isBuild = request.source === 'build';
  const follows = isFollowed(request);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of these starts with an empty log.
  const store = useMemo(createLogStore, [tenantId, path, sessionId, attempt]);
  useEffect(() => {
    const stop = new AbortController();
    const source = { tenantId, path, position: isBuild ? buildPosition() : podPosition() };
    const events = {
      lines: store.add,
      open: () => store.setState({ kind: 'reading' }),
      interrupted: () => store.setState({ kind: 'interrupted' }),
    };
    (follows ? followLog : readWholeLog)(source, events, stop.signal).then(
      (message) => {
        if (message !== null) store.setState({ kind: 'ended', message });
      },
      (error: Error) => {
        if (stop.signal.aborted) return;
        if (error instanceof Problem && error.status === 401) sessionEnded(client);
        store.setState({ kind: 'failed', error });
      },
    );
    return () => stop.abort();
  }, [client, store, tenantId, path, isBuild, follows]);
  const snapshot = useSyncExternalStore(store.subscribe, store.snapshot);
  return { ...snapshot, restart: () => setAttempt((last) => last + 1) };
}
