import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { useHints } from './live-updates.tsx';
import { requestAgain } from './request-again.ts';

/** Requests a query of the tenant again after each change, also those of single deployments. @param key constant while it is shown */
export function useEachChange(key: QueryKey): void {
  const client = useQueryClient();
  const text = JSON.stringify(key);
  const changed = useCallback(
    () => requestAgain(client, (each) => JSON.stringify(each) === text),
    [client, text],
  );
  useHints(changed);
}
