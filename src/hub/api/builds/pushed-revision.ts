import { withoutBuildResult } from '../../../domain/run-settings/procfile.ts';
import type { Transaction } from '../../store/core/database.ts';
import type { Actor } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import type { ApiDeps } from '../core/deps.ts';
import { quotaUsage } from '../deployments/deployment-quota.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';
import { reviseSource } from '../revisions/revise-source.ts';

/** Creates the revision for a new commit of the tracked branch. Both webhooks and the poller use this module. */

export interface PushedCommit {
  readonly branch: string;
  readonly commit: string;
  readonly actor: Actor;
  /** The origin of the commit, for the event. */
  readonly details: Readonly<Record<string, unknown>>;
}

const SHOWN_DIGITS = 12;

/** The abbreviated commit id. */
export const shortCommit = (commit: string) => commit.slice(0, SHOWN_DIGITS);

/**
 * Creates a revision of a commit and keeps all other values. Stored values are not validated again, because the rules
 * or the policy may be newer. The caller has locked the deployment.
 * @returns the id of the revision
 */
export async function reviseTo(
  deps: Pick<ApiDeps, 'policy' | 'secretBox'>,
  transaction: Transaction,
  before: DeploymentRecord,
  { branch, commit, actor, details }: PushedCommit,
): Promise<string> {
  const { id: deploymentId, tenantId, sourceConfig } = before;
  const secretNames = (readableSecrets(deps.secretBox, before) ?? []).map(({ name }) => name);
  const sourceRevisionConfig = {
    ...withoutBuildResult(before.sourceRevisionConfig),
    repo_commit_sha: commit,
  };
  const asked = { deploymentId, sourceConfig, sourceRevisionConfig, secretNames };
  const usage = await quotaUsage(deps, transaction, tenantId, asked);
  const { revisionId } = await reviseSource(deps, transaction, before, {
    sourceRevisionConfig,
    usage,
    actor,
    reason: 'CommitPushed',
    message: `Branch ${branch} is now at commit ${shortCommit(commit)}. This commit will be built.`,
    details: { branch, commit, ...details },
  });
  return revisionId;
}
