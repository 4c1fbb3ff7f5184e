import type { BuildStatus } from '../../../contract/resource/build.ts';
import type { ObservedResource } from '../observed.ts';

/**
 * `status.build` where the operator builds nothing: nobody else will, so the revision fails at once and says what is
 * missing. undefined: nothing is asked for.
 */
export function unbuiltStatus({ spec, status }: ObservedResource): BuildStatus | undefined {
  if (spec.build === undefined) return undefined;
  const { revisionId, number } = spec.build;
  const before = status?.build?.revisionId === revisionId ? status.build : undefined;
  // Of an operator that did build: a last word stays the last word.
  if (before?.phase === 'Succeeded' || before?.phase === 'Failed') return before;
  const message = 'the operator of this cluster builds nothing: it does not run with BERTH_HOSTING=cloud';
  return { revisionId, number, phase: 'Failed', reason: 'BuildsUnavailable', message };
}
