import type { BranchWatch, LatestRevision } from '../../../domain/builds/branch-watch.ts';
import type { GitProvider } from '../../../domain/builds/git-host.ts';
import type { RevisionStatus } from '../../../domain/revision/states.ts';
import type { Reader, Transaction } from '../core/database.ts';
import { fromStoredWatch, type StoredBranchWatch, toStoredWatch } from './stored-branch-watch.ts';

/**
 * Reads and writes deployments that are built on push: the deployments that a push affects, the known state of their
 * branches, and the time of the next poll.
 */

/** A deployment that a push may affect. */
export interface PushCandidate {
  readonly id: string;
  readonly repoUrl: string;
  readonly repoRef: string | null;
}

const BUILT_ON_PUSH = `d.source = 'git_host' AND d.delete_requested_at IS NULL
  AND d.source_config -> 'build_on_push' = 'true'::jsonb`;

const CANDIDATES = `
SELECT d.id, d.source_config ->> 'repo_url' AS "repoUrl", d.source_revision_config ->> 'repo_ref' AS "repoRef"
FROM deployments d
WHERE d.tenant_id = $1 AND d.source_config ->> 'integration_id' = $2 AND ${BUILT_ON_PUSH}
ORDER BY d.id`;

/** Deployments of an integration that are built on push, in the order of their ids. */
export function pushCandidates(
  reader: Reader,
  tenantId: string,
  integrationId: string,
): Promise<PushCandidate[]> {
  return reader.query<PushCandidate>(CANDIDATES, [tenantId, integrationId]);
}

/** The known state of a deployment's branch, and its latest revision. */
export interface BranchState {
  readonly watch: BranchWatch | null;
  readonly latest: LatestRevision;
}

interface StateRow {
  watch: StoredBranchWatch | null;
  commit: string | null;
  status: RevisionStatus | null;
}

const STATE = `
SELECT d.branch_watch AS watch, r.status, r.source_revision_config ->> 'repo_commit_sha' AS commit
FROM deployments d LEFT JOIN revisions r ON r.id = d.latest_revision_id WHERE d.id = $2 AND d.tenant_id = $1`;

const BUILDING: ReadonlySet<RevisionStatus> = new Set(['CREATING', 'AWAITING_BUILD', 'BUILDING']);

/** Reads the state. The caller has locked the deployment's row. */
export async function readBranchState(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<BranchState> {
  const [row] = await transaction.query<StateRow>(STATE, [tenantId, deploymentId]);
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
  const found = await reader.query(
    `SELECT 1 FROM revisions WHERE deployment_id = $2 AND tenant_id = $1
     AND source_revision_config ->> 'repo_commit_sha' = $3 LIMIT 1`,
    [tenantId, deploymentId, commit],
  );
  return found.length > 0;
}

const WATCH = `
UPDATE deployments SET branch_watch = $3,
  next_poll_at = CASE WHEN next_poll_at IS NULL OR $4::float8 IS NULL THEN next_poll_at
    ELSE now() + make_interval(secs => $4::float8) END
WHERE id = $2 AND tenant_id = $1`;

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
  await transaction.query(WATCH, [
    tenantId,
    deploymentId,
    watch === null ? null : JSON.stringify(toStoredWatch(watch)),
    pollInSeconds,
  ]);
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
 * Selects all due branches, or only branches after a push whose order was uncertain.
 * @param soonOnly a parameter of the statement
 */
const wanted = (soonOnly: string) => `(NOT ${soonOnly}::boolean OR d.branch_watch -> 'soon' = 'true'::jsonb)`;
const WANTED = wanted('$3');

/**
 * Whether the branch of the deployment `d` is due for a poll.
 * @param soonOnly a parameter: only branches after a push whose order was uncertain
 */
export const pollDue = (soonOnly: string) =>
  `d.next_poll_at <= now() AND ${BUILT_ON_PUSH} AND ${wanted(soonOnly)}`;

/**
 * Each due branch is claimed together with the other branches of its repository, so that one request serves all. Locked
 * rows are skipped. next_poll_at is set to the end of the claim, so that another process polls the branch if this
 * process dies.
 */
const CLAIM = `
WITH due AS (
  SELECT d.tenant_id, d.source_config ->> 'integration_id' AS integration, d.source_config ->> 'repo_url' AS url
  FROM deployments d WHERE ${pollDue('$3')} ORDER BY d.next_poll_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
  SELECT d.id FROM deployments d
  WHERE d.next_poll_at IS NOT NULL AND ${BUILT_ON_PUSH} AND ${WANTED} AND EXISTS (
    SELECT 1 FROM due WHERE due.tenant_id = d.tenant_id AND due.url = d.source_config ->> 'repo_url'
      AND due.integration IS NOT DISTINCT FROM d.source_config ->> 'integration_id')
  FOR NO KEY UPDATE OF d SKIP LOCKED
)
UPDATE deployments d SET next_poll_at = now() + make_interval(secs => $2::float8)
FROM claimed WHERE d.id = claimed.id
RETURNING d.id, d.tenant_id AS "tenantId", d.source_config ->> 'repo_url' AS "repoUrl",
  d.source_revision_config ->> 'repo_ref' AS "repoRef", d.source_config ->> 'integration_id' AS "integrationId",
  (SELECT i.provider FROM integrations i WHERE i.id::text = d.source_config ->> 'integration_id'
    AND i.tenant_id = d.tenant_id) AS provider, d.branch_watch AS watch, d.next_poll_at::text AS "claimedUntil"`;

interface ClaimedRow extends Omit<DueBranch, 'watch'> {
  readonly watch: StoredBranchWatch | null;
}

/**
 * Claims the branches of up to `limit` due repositories, for `leaseSeconds`. Platform scope.
 * @param soonOnly only branches that are due because the order of a push was uncertain
 */
export async function claimBranches(
  transaction: Transaction,
  { limit, leaseSeconds, soonOnly = false }: { limit: number; leaseSeconds: number; soonOnly?: boolean },
): Promise<DueBranch[]> {
  const rows = await transaction.query<ClaimedRow>(CLAIM, [limit, leaseSeconds, soonOnly]);
  return rows.map((row) => ({ ...row, watch: fromStoredWatch(row.watch) }));
}

/** Sets the next poll of unchanged branches, unless a push has set an earlier poll in the meantime. Platform scope. */
export async function scheduleNextPoll(
  transaction: Transaction,
  { ids, claimedUntil, inSeconds }: { ids: readonly string[]; claimedUntil: string; inSeconds: number },
): Promise<void> {
  await transaction.query(
    `UPDATE deployments SET next_poll_at = now() + make_interval(secs => $2::float8)
     WHERE id = ANY($1::uuid[]) AND next_poll_at = $3::timestamptz`,
    [ids, inSeconds, claimedUntil],
  );
}

/**
 * SQL of next_poll_at for a deployment with this source and source_config. The value is NULL for a deployment that is
 * not built on push, otherwise the current value, or a time within a minute.
 */
export const nextPollSql = (source: string, sourceConfig: string, present = 'NULL::timestamptz') =>
  `CASE WHEN ${source} = 'git_host' AND ${sourceConfig} -> 'build_on_push' = 'true'::jsonb
    THEN coalesce(${present}, now() + random() * interval '1 minute') END`;

/** Schedules polls for deployments of an earlier release that did not poll branches. Platform scope. */
export async function scheduleUnscheduled(transaction: Transaction): Promise<void> {
  await transaction.query(
    `UPDATE deployments d SET next_poll_at = ${nextPollSql('d.source', 'd.source_config')}
     WHERE d.next_poll_at IS NULL AND ${BUILT_ON_PUSH}`,
  );
}
