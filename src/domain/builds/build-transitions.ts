import { canonicalJson } from '../core/hash.ts';
import type {
  BuildReport,
  DeploymentFacts,
  ObservedReport,
  RevisionFacts,
} from '../deployment/cluster-report.ts';
import type { Step } from '../revision/revision-transitions.ts';
import type { RevisionStatus } from '../revision/states.ts';
import { buildFailureReason, type RevisionBuild } from './build.ts';

/** Which way a revision goes when its build was looked at, and what is kept of the build. */

const BEFORE_BUILT: readonly RevisionStatus[] = ['AWAITING_BUILD', 'BUILDING'];

/** Whether the image of a revision is still to be built. */
export const isToBuild = ({ status }: Pick<RevisionFacts, 'status'>) => BEFORE_BUILT.includes(status);

/** The revision whose build the report tells of, if it is still to be built: late and repeated reports say nothing new. */
function builtRevision(
  facts: DeploymentFacts,
  build: BuildReport | null | undefined,
): RevisionFacts | undefined {
  // Within the grace of its deletion nothing of it is built; restored, it is built anew.
  if (!build || facts.deleting) return undefined;
  return facts.revisions.find((revision) => revision.id === build.revisionId && isToBuild(revision));
}

function stepOf(revision: RevisionFacts, build: BuildReport): Step[] {
  const { phase, step, image, commit, message } = build;
  switch (phase) {
    case 'Waiting':
      return [];
    case 'Running':
      return [{ revision, to: 'BUILDING', reason: 'Building', message: 'its image is being built.' }];
    case 'Succeeded': {
      if (image === undefined || commit === undefined) return [];
      const built = { image, commit };
      const told = `its image was built from commit ${commit}.`;
      return [{ revision, to: 'QUEUED', reason: 'ImageBuilt', message: told, built }];
    }
    case 'Failed': {
      const reason = buildFailureReason(build.reason ?? '');
      const culprit = step === undefined ? {} : { culprit: { container: step } };
      return [{ revision, to: 'BUILD_FAILED', reason, message: message ?? 'its build failed.', ...culprit }];
    }
  }
}

/** Every move that the report of a build asks for. The newest build wins: older ones of the deployment are ended. */
export function buildSteps(facts: DeploymentFacts, { build }: ObservedReport): Step[] {
  const revision = builtRevision(facts, build);
  if (!build || revision === undefined) return [];
  return [...stepOf(revision, build), ...supersededBuilds(facts, revision)];
}

/** Builds of older revisions, ended by what is said of a newer one. */
export function supersededBuilds(facts: DeploymentFacts, newer: RevisionFacts): Step[] {
  return facts.revisions
    .filter((other) => isToBuild(other) && other.number < newer.number)
    .map((revision) => ({
      revision,
      to: 'SKIPPED',
      reason: 'Superseded',
      message: 'a newer revision came before it was built.',
    }));
}

function keptOf({ phase, step, startedAt, finishedAt }: BuildReport): RevisionBuild {
  return {
    phase,
    ...(step === undefined ? {} : { step }),
    ...(startedAt === undefined ? {} : { started_at: startedAt }),
    ...(finishedAt === undefined ? {} : { finished_at: finishedAt }),
  };
}

/**
 * The revisions with what is known of their builds.
 * @param before as they were before the report moved them
 * @param after as it moved them
 */
export function withBuilds(
  before: DeploymentFacts,
  after: readonly RevisionFacts[],
  { build }: ObservedReport,
): RevisionFacts[] {
  const built = builtRevision(before, build);
  return after.map((revision) => {
    // Ended before its last word: nobody will hear it.
    if (revision.status === 'SKIPPED' && revision.build) return { ...revision, build: null };
    if (!build || revision.id !== built?.id) return revision;
    const kept = keptOf(build);
    return canonicalJson(kept) === canonicalJson(revision.build ?? null)
      ? revision
      : { ...revision, build: kept };
  });
}
