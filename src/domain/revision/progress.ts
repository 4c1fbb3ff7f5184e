import { BUILD_FAILURES } from '../builds/build.ts';
import type { Reason } from '../conditions/conditions.ts';
import { timeOfUuidv7 } from '../core/id.ts';
import type { DeploymentFacts, OutcomeMove, RevisionFacts } from '../deployment/cluster-report.ts';
import { statusOf } from './report-outcome.ts';
import type { RevisionStatus } from './states.ts';

/** How long rollouts and builds took, and how they ended: measured when the hub hears of their end. */

export type ProgressMeasure =
  /** The first time of a deployment that it was READY, since the request for its revision. */
  | { readonly kind: 'ready'; readonly seconds: number }
  /** The end of a revision's way, since it was made. `built`: its image was built on that way. */
  | {
      readonly kind: 'rollout';
      readonly result: RolloutResult;
      readonly reason: string;
      readonly built: boolean;
      readonly seconds: number;
    }
  /** The last word of a build. `seconds`: since its Job began; null: it never did. */
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

/** Every end of a rollout that the operator brings about, by result; of a resource that others write, any reason. */
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
    'RolloutDeadlineExceeded',
    'RolloutFailed',
    'Unschedulable',
  ],
  interrupted: ['Interrupted'],
  skipped: ['Superseded'],
};

/** Every end of a build, by result. */
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

/** Of the revision that it waited with: it is READY when its data services are, mostly before that one runs. */
function readyMeasure(before: DeploymentFacts, after: DeploymentFacts, now: Date): ProgressMeasure[] {
  const comes = statusOf(before) === 'AWAITING_DATABASE' && statusOf(after) === 'READY';
  if (!comes || before.active !== null) return [];
  const made = before.revisions.flatMap(({ id }) => timeOfUuidv7(id) ?? []);
  return made.length === 0 ? [] : [{ kind: 'ready', seconds: since(Math.min(...made), now) }];
}

/** What the reports of a deployment have ended. @param after with the moves that led there */
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
