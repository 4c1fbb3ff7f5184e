import type { GitProvider } from '../../../../domain/builds/git-host.ts';
import { deployments } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';
import { builtOnPush, pollDue, pollWanted } from '../fragments/branch-polls.ts';

/**
 * Claims due branches. Each due branch is claimed together with the other branches of its repository, so that one
 * request serves all. Locked rows are skipped. next_poll_at is set to the end of the claim, so that another process
 * polls the branch if this process dies.
 */
export const claimBranchesStatement = statement<
  { limit: number; leaseSeconds: number; soonOnly: boolean },
  Columns<typeof deployments, 'id' | 'tenantId' | 'branchWatch'> & {
    repoUrl: string;
    repoRef: string | null;
    integrationId: string | null;
    provider: GitProvider | null;
    /** The time in the format of the database, which has microseconds. */
    claimedUntil: string;
  }
>(
  'claim_branches',
  `WITH due AS (
  SELECT d.tenant_id, d.source_config ->> 'integration_id' AS integration, d.source_config ->> 'repo_url' AS url
  FROM deployments d WHERE ${pollDue(':soonOnly')} ORDER BY d.next_poll_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
  SELECT d.id FROM deployments d
  WHERE d.next_poll_at IS NOT NULL AND ${builtOnPush('d')} AND ${pollWanted(':soonOnly')} AND EXISTS (
    SELECT 1 FROM due WHERE due.tenant_id = d.tenant_id AND due.url = d.source_config ->> 'repo_url'
      AND due.integration IS NOT DISTINCT FROM d.source_config ->> 'integration_id')
  FOR NO KEY UPDATE OF d SKIP LOCKED
)
UPDATE deployments d SET next_poll_at = now() + make_interval(secs => :leaseSeconds::float8)
FROM claimed WHERE d.id = claimed.id
RETURNING ${columns(deployments, 'd', ['id', 'tenantId', 'branchWatch'])}, d.source_config ->> 'repo_url' AS "repoUrl",
  d.source_revision_config ->> 'repo_ref' AS "repoRef", d.source_config ->> 'integration_id' AS "integrationId",
  (SELECT i.provider FROM integrations i WHERE i.id::text = d.source_config ->> 'integration_id'
    AND i.tenant_id = d.tenant_id) AS provider, d.next_poll_at::text AS "claimedUntil"`,
);
