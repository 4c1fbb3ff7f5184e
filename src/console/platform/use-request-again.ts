import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { subjectOf } from '../api/keys.ts';
import { requestAgain } from '../live/request-again.ts';

/** Requests everything of all tenants again after a change of the platform, because the stream reports only some of these changes. */
export function useRequestAgain(): () => void {
  const client = useQueryClient();
  return useCallback(
    () =>
      requestAgain(
        client,
        (key) => key[0] === 'tenants' || (subjectOf(key) !== null && key[2] === 'platform'),
      ),
    [client],
  );
}
