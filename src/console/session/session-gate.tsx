import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, Fragment, type ReactNode, useContext, useEffect, useRef } from 'react';
import { subjectOf } from '../api/keys.ts';
import type { Session } from '../api/types.ts';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { onSessionChange } from './session-channel.ts';
import { sessionQuery } from './session-query.ts';
import { SignInAgain } from './sign-in-again.tsx';
import { SignInPage } from './sign-in-page.tsx';

const SessionContext = createContext<Session | null>(null);

/** The session of the person or key that uses the page. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null)
    throw new Error('failed to find the session: the component is outside of SessionGate');
  return session;
}

/** Whether the data that is shown belongs to someone else than the one who signed in again. */
const isOther = (former: Session | null, next: Session): boolean =>
  former !== null && former.actor_id !== next.actor_id;

/**
 * Shows its children to someone who is signed in. If the session ends while they are shown, they stay, so that nothing typed is lost, and a
 * dialog asks to sign in again. The URL never changes.
 */
export function SessionGate({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient();
  const { data: session, error, isPending, refetch } = useQuery(sessionQuery);
  const shown = useRef<Session | null>(null);

  useEffect(
    () => onSessionChange(() => void client.invalidateQueries({ queryKey: sessionQuery.queryKey })),
    [client],
  );

  if (session != null) {
    if (isOther(shown.current, session))
      client.removeQueries({ predicate: ({ queryKey }) => subjectOf(queryKey) !== null });
    shown.current = session;
  }
  const known = session ?? shown.current;
  if (known === null) {
    if (isPending) return <Loading what="the session" />;
    if (error !== null) return <ProblemNotice error={error} onRetry={() => void refetch()} />;
    return <SignInPage />;
  }
  return (
    <SessionContext value={known}>
      {/* Nothing that one person has typed or requested is shown to another one. */}
      <Fragment key={known.actor_id}>{children}</Fragment>
      {session === null && <SignInAgain name={known.name} />}
    </SessionContext>
  );
}
