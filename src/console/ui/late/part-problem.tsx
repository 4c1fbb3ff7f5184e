import { useEffect } from 'react';
import { ProblemNotice } from '../problem-notice.tsx';
import { MissingPart } from './missing-part.ts';
import { reloadIfAllowed } from './reload.ts';

interface PartProblemProps {
  readonly error: Error;
  readonly onRetry: () => void;
  /** Whether the part is what the person wants to see now, so that the page may be loaded again for it. */
  readonly reloads?: boolean;
}

/** An error of a part of the console. */
export function PartProblem({ error, onRetry, reloads = false }: PartProblemProps) {
  const isMissing = error instanceof MissingPart;
  useEffect(() => {
    if (isMissing && reloads) reloadIfAllowed();
  }, [isMissing, reloads]);
  return (
    <ProblemNotice
      error={error}
      onRetry={isMissing ? () => window.location.reload() : onRetry}
      {...(isMissing ? { retries: 'Load the console again' } : {})}
    />
  );
}
