import { type BuildStatus, hasBuildEnded } from '../../../contract/resource/build.ts';
import type { ObservedResource } from '../observed.ts';

/**
 * `status.build` if this operator runs no builds. The revision fails at once, and the message names the missing
 * setting. undefined: no build is requested.
 */
export function unbuiltStatus({ spec, status }: ObservedResource): BuildStatus | undefined {
  if (spec.build === undefined) return undefined;
  const { revisionId, number } = spec.build;
  const before = status?.build?.revisionId === revisionId ? status.build : undefined;
  // An operator with builds wrote this final status, which does not change.
  if (before !== undefined && hasBuildEnded(before)) return before;
  const message =
    'the operator of this cluster runs no builds: builds need BERTH_HOSTING=cloud or BERTH_BUILDS=true';
  return { revisionId, number, phase: 'Failed', reason: 'BuildsUnavailable', message };
}
