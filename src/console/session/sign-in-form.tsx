import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { platformApi, read } from '../api/client.ts';
import { apiUrl, consolePath } from '../app/addresses.ts';
import { Button } from '../ui/button.tsx';
import { Loading } from '../ui/loading.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import styles from './session.module.css';
import { announceSession } from './session-channel.ts';
import { methodsQuery, sessionBegan, sessionQuery } from './session-query.ts';

/** Signs in with an API key. The key is sent once and kept nowhere in the page. */
function KeyForm() {
  const client = useQueryClient();
  const id = useId();
  const [key, setKey] = useState('');
  const signIn = useMutation({
    mutationFn: (apiKey: string) =>
      read(platformApi.POST('/v2/auth/key-session', { body: { api_key: apiKey } })),
    // A wrong key is answered with 401, which does not mean that a session has ended.
    onSuccess: async (session) => {
      setKey('');
      client.setQueryData(sessionQuery.queryKey, session);
      announceSession();
      await sessionBegan(client);
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    signIn.mutate(key.trim());
  }
  return (
    <form onSubmit={submit} className={styles.form}>
      <label htmlFor={id}>API key</label>
      <input
        id={id}
        type="password"
        autoComplete="off"
        spellCheck={false}
        value={key}
        onChange={({ target }) => setKey(target.value)}
        required
      />
      {signIn.error !== null && <ProblemNotice error={signIn.error} />}
      <Button type="submit" variant="primary" isBusy={signIn.isPending}>
        Sign in with an API key
      </Button>
    </form>
  );
}

/**
 * The ways to sign in.
 * @param inNewTab the identity provider opens in another tab, so that this page stays as it is
 */
export function SignInForm({ inNewTab = false }: { readonly inNewTab?: boolean }) {
  const { data: methods, error, isPending, refetch } = useQuery(methodsQuery);
  if (isPending) return <Loading what="the ways to sign in" />;
  if (error !== null) return <ProblemNotice error={error} onRetry={() => void refetch()} />;
  const { identity_provider: provider, api_key: acceptsKeys } = methods;
  if (!acceptsKeys && provider === null)
    return (
      <p>
        Signing in is not possible, because <code>BERTH_PUBLIC_URL</code> of the API must be an https URL, or
        an http URL of this machine (localhost).
      </p>
    );
  const { pathname, search } = window.location;
  const returnTo = inNewTab ? `${consolePath}/signed-in` : `${pathname}${search}`;
  return (
    <div className={styles.ways}>
      {provider !== null && (
        <a
          className={styles.provider}
          href={`${apiUrl}/v2/auth/sign-in?return_to=${encodeURIComponent(returnTo)}`}
          {...(inNewTab ? { target: '_blank', rel: 'opener' } : {})}
        >
          Sign in with {new URL(provider.issuer).host}
        </a>
      )}
      {acceptsKeys && <KeyForm />}
    </div>
  );
}
