import { useEffect } from 'react';
import { Page } from '../shell/page.tsx';
import { announceSession } from './session-channel.ts';

/** The identity provider sends a browser here that signed in again in a new tab. */
export function SignedInPage() {
  useEffect(announceSession, []);
  return (
    <Page title="You are signed in">
      <p>You can close this tab, and continue in the tab in which you started.</p>
    </Page>
  );
}
