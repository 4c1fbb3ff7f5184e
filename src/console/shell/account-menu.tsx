import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useSession } from '../session/session-gate.tsx';
import { useSignOut } from '../session/sign-out.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ProblemNotice } from '../ui/problem-notice.tsx';
import { Time } from '../ui/time.tsx';
import { useTenantApi } from './tenant-context.ts';
import { ThemeChoice } from './theme-choice.tsx';

/** Who is signed in, the theme, and the way out. */
export function AccountMenu() {
  const { name, kind, expires_at: expiresAt } = useSession();
  const [isOpen, setOpen] = useState(false);
  const signOut = useSignOut();
  const { tenantId } = useTenantApi();
  return (
    <>
      <Button onClick={() => setOpen(true)} aria-haspopup="dialog">
        Account
      </Button>
      <Dialog title="Account" isOpen={isOpen} onClose={() => setOpen(false)}>
        <p>
          Signed in as <strong>{name}</strong>
          {kind === 'api_key' && ' (API key)'}. The session ends <Time at={expiresAt} />.
        </p>
        <p>
          <Link to="/t/$tenantId/tokens" params={{ tenantId }} onClick={() => setOpen(false)}>
            Access tokens
          </Link>
        </p>
        <ThemeChoice />
        {signOut.error !== null && <ProblemNotice error={signOut.error} />}
        <p>
          <Button onClick={() => signOut.mutate(false)} isBusy={signOut.isPending}>
            Sign out
          </Button>{' '}
          <Button onClick={() => signOut.mutate(true)} isBusy={signOut.isPending}>
            Sign out in all browsers
          </Button>
        </p>
      </Dialog>
    </>
  );
}
