import type { BranchWatch, LatestRevision } from '../../../domain/builds/branch-watch.ts';
import type { GitProvider } from '../../../domain/builds/git-host.ts';
import type { RevisionStatus } from '../../../domain/revision/states.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { and, eq, isNull, sql } from '../core/drizzle.ts';
import { deployments, revisions } from '../core/schema.ts';
import { claimBranchesStatement } from '../sql/builds/claim-branches.ts';
import { builtOnPush, nextPollSql } from '../sql/fragments/branch-polls.ts';
import { fromStoredWatch, toStoredWatch } from './stored-branch-watch.ts';

/**
 * Reads and writes deployments that are built on push: the deployments that a push affects, the known state of their
 * branches, and the time of the next poll.
 */

const BUILT_ON_PUSH = sql.raw(builtOnPush('deployments'));

const own = (tenantId: string, deploymentId: string) =>
  and(eq(deployments.id, deploymentId), eq(deployments.tenantId, tenantId));

const inSecondsFromNow = (seconds: number) => sql`now() + make_interval(secs => ${seconds}::float8)`;

/** A deployment that a push may affect. */
export interface PushCandidate {
  readonly id: string;
  readonly repoUrl: string;
  readonly repoRef: string | null;
}

/** Deployments of an integration that are built on push, in the order of their ids. */
export function pushCandidates(
  reader: Reader,
  tenantId: string,
  integrationId: string,
): Promise<PushCandidate[]> {
  return reader.drizzle
    .select({
      id: deployments.id,
      repoUrl: sql<string>`${deployments.sourceConfig} ->> 'repo_url'`,
      repoRef: sql<string | null>`${deployments.sourceRevisionConfig} ->> 'repo_ref'`,
    })
    .from(deployments)
    .where(
      and(
        eq(deployments.tenantId, tenantId),
        sql`${deployments.sourceConfig} ->> 'integration_id' = ${integrationId}`,
        BUILT_ON_PUSH,
      ),
    )
    .orderBy(deployments.id);
}

/** The known state of a deployment's branch, and its latest revision. */
export interface BranchState {
  readonly watch: BranchWatch | null;
  readonly latest: LatestRevision;
}

const BUILDING: ReadonlySet<RevisionStatus> = new Set(['CREATING', 'AWAITING_BUILD', 'BUILDING']);

/** Reads the state. The caller has locked the deployment's row. */
export async function readBranchState(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<BranchState> {
  const [row] = await transaction.drizzle
    .select({
      watch: deployments.branchWatch,
      status: revisions.status,
      commit: sql<string | null>`${revisions.sourceRevisionConfig} ->> 'repo_commit_sha'`,
    })
    .from(deployments)
    .leftJoin(revisions, eq(revisions.id, deployments.latestRevisionId))
    .where(own(tenantId, deploymentId));
  const { watch = null, commit = null, status = null } = row ?? {};
  return {
    watch: fromStoredWatch(watch),
    latest: { commit, building: status !== null && BUILDING.has(status) },
  };
}

/** Whether a revision of the deployment was created from a commit. */
export async function wasBuilt(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
  commit: string,
): Promise<boolean> {
  const found = await reader.drizzle
    .select({ id: revisions.id })
    .from(revisions)
    .where(
      and(
        eq(revisions.deploymentId, deploymentId),
        eq(revisions.tenantId, tenantId),
        sql`${revisions.sourceRevisionConfig} ->> 'repo_commit_sha' = ${commit}`,
      ),
    )
    .limit(1);
  return found.length > 0;
}

/**
 * Stores the known state of a branch. The caller has locked the deployment's row.
 * @param pollInSeconds time until the next poll; null: unchanged
 */
export async function writeBranchWatch(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
  watch: BranchWatch | null,
  pollInSeconds: number | null,
): Promise<void> {
  const { nextPollAt } = deployments;
  const next =
    pollInSeconds === null
      ? {}
      : { nextPollAt: sql`CASE WHEN ${nextPollAt} IS NOT NULL THEN ${inSecondsFromNow(pollInSeconds)} END` };
  await transaction.drizzle
    .update(deployments)
    .set({ branchWatch: watch === null ? null : toStoredWatch(watch), ...next })
    .where(own(tenantId, deploymentId));
}

/** A deployment whose branch is due for a poll. */
export interface DueBranch {
  readonly id: string;
  readonly tenantId: string;
  readonly repoUrl: string;
  readonly repoRef: string | null;
  /** null: the repository is read without credentials. */
  readonly integrationId: string | null;
  readonly provider: GitProvider | null;
  /** The state when the branch became due. */
  readonly watch: BranchWatch | null;
  /** End of the claim, in the format of the database. This time is equal for all branches of one claim. */
  readonly claimedUntil: string;
}

/**
 * A lock that serializes claims. Without it, two processes could each claim some branches of one repository, and both
 * would request the repository. The lock is held for the claim, not for the requests.
 */
const CLAIM_LOCK = sql`SELECT pg_advisory_xact_lock(hashtextextended('berth_branch_claim', 0))`;

/**
 * Claims the branches of up to `limit` due repositories, for `leaseSeconds`. Platform scope.
 * @param soonOnly only branches that are due because the order of a push was uncertain
 */
export async function claimBranches(
  transaction: Transaction,
  { limit, leaseSeconds, soonOnly = false }: { limit: number; leaseSeconds: number; soonOnly?: boolean },
): Promise<DueBranch[]> {
  await transaction.drizzle.execute(CLAIM_LOCK);
  const rows = await transaction.run(claimBranchesStatement, { limit, leaseSeconds, soonOnly });
  return rows.map(({ branchWatch, ...row }) => ({ ...row, watch: fromStoredWatch(branchWatch) }));
}

/** Sets the next poll of unchanged branches, unless a push has set an earlier poll in the meantime. Platform scope. */
export async function scheduleNextPoll(
  transaction: Transaction,
  { ids, claimedUntil, inSeconds }: { ids: readonly string[]; claimedUntil: string; inSeconds: number },
): Promise<void> {
  await transaction.drizzle
    .update(deployments)
    .set({ nextPollAt: inSecondsFromNow(inSeconds) })
    .where(
      and(
        sql`${deployments.id} = ANY(${sql.param(ids)}::uuid[])`,
        sql`${deployments.nextPollAt} = ${claimedUntil}::timestamptz`,
      ),
    );
}

/** Schedules polls for deployments of an earlier release that did not poll branches. Platform scope. */
export async function scheduleUnscheduled(transaction: Transaction): Promise<void> {
  await transaction.drizzle
    .update(deployments)
    .set({ nextPollAt: sql.raw(nextPollSql('deployments.source', 'deployments.source_config')) })
    .where(and(isNull(deployments.nextPollAt), BUILT_ON_PUSH));
}
