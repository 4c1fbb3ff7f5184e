import type { BuildStatus } from '../../../contract/resource/build.ts';
import type { ObservedResource } from '../observed.ts';

/**
 * The failed build of the newest revision, after the hub has stopped to request it. The failure stands until the hub
 * requests another build or runs a revision that is at least as new. It is derived from the recorded status, because hubs
 * and listeners of the previous version send nothing else about it (decision 0094). undefined: there is no such build.
 */
export function standingFailure({ spec, status }: ObservedResource): BuildStatus | undefined {
  const build = status?.build;
  // A user who applies resources by hand removes spec.build to give up the build.
  if (build?.phase !== 'Failed' || spec.build !== undefined || spec.deploymentId === undefined)
    return undefined;
  const { image, number } = spec.revision;
  return image === undefined || number < build.number ? build : undefined;
}
