import type { BuildStatus } from '../../../contract/resource/build.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { REASONS } from '../../../domain/conditions/conditions.ts';
import type { Observed } from '../observed.ts';
import type { Finding } from '../status/conditions.ts';

/** The part of ImageReady about a build; null: no build is requested. */
export function buildFinding({ resource, build }: Observed): Finding | null {
  const asked = resource.spec.build;
  if (asked === undefined) return null;
  const revision = `revision ${asked.number}`;
  if (!build)
    return { status: 'False', reason: 'AwaitingBuild', message: `the build of ${revision} is requested` };
  return { status: build.phase === 'Succeeded' ? 'True' : 'False', ...wording(build, revision) };
}

function wording(build: BuildStatus, revision: string): { reason: Reason; message: string } {
  const { phase, step, image, commit, reason = '', message } = build;
  const why = message === undefined ? '' : `: ${message}`;
  switch (phase) {
    case 'Waiting':
      return { reason: 'AwaitingBuild', message: `${revision} waits for its build to start${why}` };
    case 'Running': {
      const where = step === undefined ? 'its build is starting' : `the step ${step} runs`;
      return { reason: 'Building', message: `${revision} is being built: ${where}${why}` };
    }
    case 'Succeeded':
      return { reason: 'ImageBuilt', message: `${revision}: image ${image} was built from commit ${commit}` };
    case 'Failed': {
      const known = Object.hasOwn(REASONS, reason) ? (reason as Reason) : 'BuildFailed';
      return { reason: known, message: `the build of ${revision} failed${why}` };
    }
  }
}
