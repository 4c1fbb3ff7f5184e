import { BUILD_FAILURES } from '../builds/build.ts';
import type { Reason } from '../conditions/conditions.ts';
import { timeOfUuidv7 } from '../core/id.ts';
import type { DeploymentFacts, OutcomeMove, RevisionFacts } from '../deployment/cluster-report.ts';
import { statusOf } from './report-outcome.ts';
import type { RevisionStatus } from './states.ts';

/** Measures durations and results of rollouts and builds when their end is reported to the hub. */

export type ProgressMeasure =
  /** Time from the request for the first revision until the deployment was READY for the first time. */
  | { readonly kind: 'ready'; readonly seconds: number }
  /**
   * Time from the creation of a revision to its terminal status. `built`: whether the image of the revision was built
   * during this time.
   */
  | {
      readonly kind: 'rollout';
      readonly result: RolloutResult;
      readonly reason: string;
      readonly built: boolean;
      readonly seconds: number;
    }
  /** End of a build. `seconds`: time since the start of its Job; null: the Job did not start. */
  | {
      readonly kind: 'build';
      readonly result: 'succeeded' | 'failed';
      readonly reason: string;
      readonly seconds: number | null;
    };

const RESULTS = {
  DEPLOYED: 'deployed',
  DEPLOY_FAILED: 'failed',
  INTERRUPTED: 'interrupted',
  SKIPPED: 'skipped',
} as const satisfies Partial<Record<RevisionStatus, string>>;
export type RolloutResult = (typeof RESULTS)[keyof typeof RESULTS];

/**
 * Reasons of rollout ends of the operator, by result. A custom resource that others have written can have any reason.
 */
export const ROLLOUT_ENDS: Readonly<Record<RolloutResult, readonly Reason[]>> = {
  deployed: ['RolloutComplete'],
  failed: [
    'AdmissionRefused',
    'ContainerConfigInvalid',
    'CrashLoop',
    'FieldsChangedByCluster',
    'ImageNotFound',
    'ImagePullFailed',
    'InvalidImageName',
    'MountFailed',
    'NodeLost',
    'QuotaExceeded',
    'ReadinessFailed',
    'Refused',
    'ReleaseFailed',
    'ReleaseLost',
    'RolloutDeadlineExceeded',
    'RolloutFailed',
    'SecretReferenceMissing',
    'Unschedulable',
  ],
  interrupted: ['Interrupted'],
  skipped: ['Superseded'],
};

/** Reasons of build ends, by result. */
export const BUILD_ENDS = {
  succeeded: ['ImageBuilt'],
  failed: BUILD_FAILURES,
} as const satisfies Record<string, readonly Reason[]>;

const since = (from: number, now: Date) => Math.max(0, (now.getTime() - from) / 1000);

function rolloutMeasure(
  move: OutcomeMove,
  revision: RevisionFacts | undefined,
  now: Date,
): ProgressMeasure[] {
  const { id, to, reason } = move;
  if (!Object.hasOwn(RESULTS, to)) return [];
  const result = RESULTS[to as keyof typeof RESULTS];
  const made = timeOfUuidv7(id);
  if (made === null) return [];
  const built = (revision?.build ?? null) !== null;
  return [{ kind: 'rollout', result, reason, built, seconds: since(made, now) }];
}

function buildMeasure(move: OutcomeMove, revision: RevisionFacts | undefined): ProgressMeasure[] {
  const { to, reason, built } = move;
  if (built === undefined && to !== 'BUILD_FAILED') return [];
  const { started_at: began, finished_at: ended } = revision?.build ?? {};
  const seconds =
    began === undefined || ended === undefined ? null : since(Date.parse(began), new Date(ended));
  return [
    {
      kind: 'build',
      result: built === undefined ? 'failed' : 'succeeded',
      reason,
      seconds: Number.isNaN(seconds) ? null : seconds,
    },
  ];
}

/**
 * Measured for the revision in progress. A deployment is READY when its data services are ready, usually before the
 * revision runs.
 */
function readyMeasure(before: DeploymentFacts, after: DeploymentFacts, now: Date): ProgressMeasure[] {
  const comes = statusOf(before) === 'AWAITING_DATABASE' && statusOf(after) === 'READY';
  if (!comes || before.active !== null) return [];
  const made = before.revisions.flatMap(({ id }) => timeOfUuidv7(id) ?? []);
  return made.length === 0 ? [] : [{ kind: 'ready', seconds: since(Math.min(...made), now) }];
}

/** The measured times that the reports of a deployment add. @param after the record with the transitions */
export function progressOf(
  before: DeploymentFacts,
  after: DeploymentFacts,
  moves: readonly OutcomeMove[],
  now: Date,
): ProgressMeasure[] {
  const moved = moves.flatMap((move) => {
    const revision = after.revisions.find(({ id }) => id === move.id);
    return [...rolloutMeasure(move, revision, now), ...buildMeasure(move, revision)];
  });
  return [...readyMeasure(before, after, now), ...moved];
}
