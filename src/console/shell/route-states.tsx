import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { PartProblem } from '../ui/late/part-problem.tsx';
import { Page } from './page.tsx';

/** Shown for a URL without a page. */
export function NotFound() {
  return (
    <Page title="There is no such page">
      <p>
        <Link to="/">Go to the first page</Link>
      </p>
    </Page>
  );
}

/** Shown when a page fails. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  return (
    <PartProblem error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} reloads />
  );
}
