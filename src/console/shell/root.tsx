import { Outlet } from '@tanstack/react-router';
import { SessionGate } from '../session/session-gate.tsx';
import { ErrorBoundary } from './error-boundary.tsx';

/** Around every page. */
export function Root() {
  return (
    <ErrorBoundary>
      <SessionGate>
        <Outlet />
      </SessionGate>
    </ErrorBoundary>
  );
}
