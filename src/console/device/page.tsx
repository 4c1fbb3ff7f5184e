import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { platformApi, read } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import type { DeviceLogin } from '../api/types.ts';
import { useSession } from '../session/session-gate.tsx';
import { Page } from '../shell/page.tsx';
import { Button } from '../ui/button.tsx';
import fields from '../ui/fields/fields.module.css';
import { TextField } from '../ui/fields/text-field.tsx';
import { isolated } from '../ui/isolated.ts';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { Decision } from './decision.tsx';
import styles from './device.module.css';

/** The code is typed and never part of a URL, so that no link can contain it (docs/decisions/0130). */
function CodeForm({ onFound }: { readonly onFound: (login: DeviceLogin) => void }) {
  const { name } = useSession();
  const [code, setCode] = useState('');
  const find = useMutation({
    mutationFn: () => {
      const params = { path: { user_code: code.trim() } };
      return read(platformApi.GET('/v2/auth/device/{user_code}', { params }));
    },
    onSuccess: onFound,
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (!find.isPending) find.mutate();
  }
  const isUnknown = find.error instanceof Problem && find.error.status === 404;
  return (
    <form className={fields['form']} onSubmit={submit}>
      <p>
        You are signed in as <bdi>{name}</bdi>. Enter the code that <code>berth login</code> shows.
      </p>
      <TextField
        label="Code"
        value={code}
        onChange={setCode}
        maxLength={32}
        autoCapitalize="characters"
        required
      />
      {isUnknown && <p role="alert">This code is not known, or has expired. Start berth login again.</p>}
      {find.error !== null && !isUnknown && <ProblemNotice error={find.error} />}
      <Button type="submit" variant="primary" isBusy={find.isPending}>
        Continue
      </Button>
    </form>
  );
}

function Confirm() {
  const [login, setLogin] = useState<DeviceLogin | null>(null);
  const [decision, setDecision] = useState<'approve' | 'deny' | null>(null);
  if (login === null) return <CodeForm onFound={setLogin} />;
  if (decision === null) return <Decision login={login} onDecided={setDecision} />;
  return (
    <p role="status">
      {decision === 'approve'
        ? `Approved: ${isolated(login.machine)} is logged in within a few seconds.`
        : `Denied: ${isolated(login.machine)} gets no token.`}{' '}
      You can close this page.
    </p>
  );
}

/** Confirms the login of a machine (`berth login`). */
export function DevicePage() {
  const isPerson = useSession().kind === 'person';
  return (
    <main className={styles['page']}>
      <Page title="Log in on a machine">
        {isPerson ? (
          <Confirm />
        ) : (
          <p>
            Only a person can confirm a login, not an API key. Use the key on the machine:{' '}
            <code>berth login --api-key</code>
          </p>
        )}
      </Page>
    </main>
  );
}
