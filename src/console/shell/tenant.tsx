import { Link, Outlet } from '@tanstack/react-router';
import { useEffect } from 'react';
import { ConnectionNotice } from '../live/connection-notice.tsx';
import { LiveUpdates } from '../live/live-updates.tsx';
import { useSession } from '../session/session-gate.tsx';
import { AccountMenu } from './account-menu.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { NAVIGATION } from './navigation.ts';
import styles from './shell.module.css';
import { useTenantApi } from './tenant-context.ts';
import { TenantSwitch } from './tenant-switch.tsx';
import { rememberTenant } from './tenants-query.ts';

function focusMain(): void {
  document.getElementById('main')?.focus();
}

/** The frame of all pages of a tenant. */
export function Tenant() {
  const { tenantId } = useTenantApi();
  const session = useSession();
  useEffect(() => rememberTenant(tenantId), [tenantId]);
  return (
    <LiveUpdates tenantId={tenantId} sessionId={session.id}>
      {/* A link to #main would change the URL. */}
      <button type="button" className={styles['skip']} onClick={focusMain}>
        Skip to the content
      </button>
      <header className={styles['header']}>
        <Link to="/" className={styles['brand']}>
          Berth
        </Link>
        <nav aria-label="Pages" className={styles['nav']}>
          {NAVIGATION.map(({ to, label }) => (
            <Link key={to} to={to} params={{ tenantId }} activeProps={{ 'aria-current': 'page' }}>
              {label}
            </Link>
          ))}
        </nav>
        <TenantSwitch tenantId={tenantId} />
        <AccountMenu />
      </header>
      <ConnectionNotice />
      <main id="main" tabIndex={-1} className={styles['main']} key={tenantId}>
        <ErrorBoundary>
          <Outlet />
        </ErrorBoundary>
      </main>
    </LiveUpdates>
  );
}
