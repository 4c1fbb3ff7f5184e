import { Link, Outlet } from '@tanstack/react-router';
import { scopesIn } from '../session/rights.ts';
import { useSession } from '../session/session-gate.tsx';
import { useTenantApi } from '../shell/tenant-context.ts';
import styles from './platform.module.css';
import { sectionsFor } from './sections.ts';

/** What does not belong to one deployment: listeners, integrations, and for admins keys and tenants. */
export function PlatformPage() {
  const { tenantId } = useTenantApi();
  const sections = sectionsFor(scopesIn(useSession(), tenantId));
  return (
    <>
      <nav aria-label="Parts of the platform" className={styles['sections']}>
        {sections.map(({ to, label }) => (
          <Link
            key={to}
            to={to}
            params={{ tenantId }}
            activeOptions={{ exact: true }}
            activeProps={{ 'aria-current': 'page' }}
          >
            {label}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  );
}
