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

/** Derives state transitions of revisions, and the stored state of builds, from observed builds. */

const BEFORE_BUILT: readonly RevisionStatus[] = ['AWAITING_BUILD', 'BUILDING'];

/** Whether the image of a revision is not built yet. */
export const isToBuild = ({ status }: Pick<RevisionFacts, 'status'>) => BEFORE_BUILT.includes(status);

/** The revision of the reported build, if its image is not built yet. Late and repeated reports have no effect. */
function builtRevision(
  facts: DeploymentFacts,
  build: BuildReport | null | undefined,
): RevisionFacts | undefined {
  // During the grace period of a deletion, no builds run. After a restore, the build starts again.
  if (!build || facts.deleting) return undefined;
  return facts.revisions.find((revision) => revision.id === build.revisionId && isToBuild(revision));
}

function stepOf(revision: RevisionFacts, build: BuildReport): Step[] {
  const { phase, step, image, commit, procfile, message } = build;
  switch (phase) {
    case 'Waiting':
      return [];
    case 'Running':
      return [{ revision, to: 'BUILDING', reason: 'Building', message: 'its image is being built.' }];
    case 'Succeeded': {
      if (image === undefined) return [];
      const built = {
        image,
        ...(commit === undefined ? {} : { commit }),
        ...(procfile === undefined ? {} : { procfile }),
      };
      const message = `its image was built from ${commit === undefined ? 'the uploaded folder' : `commit ${commit}`}.`;
      return [{ revision, to: 'QUEUED', reason: 'ImageBuilt', message, built }];
    }
    case 'Failed': {
      const reason = buildFailureReason(build.reason ?? '');
      const failureSource = step === undefined ? {} : { failureSource: { container: step } };
      return [
        { revision, to: 'BUILD_FAILED', reason, message: message ?? 'its build failed.', ...failureSource },
      ];
    }
  }
}

/** All steps from the report of a build. Older builds of the deployment end. */
export function buildSteps(facts: DeploymentFacts, { build }: ObservedReport): Step[] {
  const revision = builtRevision(facts, build);
  if (!build || revision === undefined) return [];
  return [...stepOf(revision, build), ...supersededBuilds(facts, revision)];
}

/** Steps that end builds of older revisions because the build of a newer revision was reported. */
export function supersededBuilds(facts: DeploymentFacts, newer: RevisionFacts): Step[] {
  return facts.revisions
    .filter((other) => isToBuild(other) && other.number < newer.number)
    .map((revision) => ({
      revision,
      to: 'SKIPPED',
      reason: 'Superseded',
      message: 'a newer revision replaced it before it was built.',
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
 * The revisions with the state of their builds.
 * @param before the revisions before the report
 * @param after the revisions after its steps
 */
export function withBuilds(
  before: DeploymentFacts,
  after: readonly RevisionFacts[],
  { build }: ObservedReport,
): RevisionFacts[] {
  const built = builtRevision(before, build);
  return after.map((revision) => {
    // The build ended before a final phase was reported, and no phase will be reported later.
    if (revision.status === 'SKIPPED' && revision.build) return { ...revision, build: null };
    if (!build || revision.id !== built?.id) return revision;
    const kept = keptOf(build);
    return canonicalJson(kept) === canonicalJson(revision.build ?? null)
      ? revision
      : { ...revision, build: kept };
  });
}
