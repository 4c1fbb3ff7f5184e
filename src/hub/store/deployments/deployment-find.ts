import { normalizedName } from '../../../domain/core/name.ts';
import type { DeploymentType } from '../../../domain/deployment/source.ts';
import type { DeploymentStatus } from '../../../domain/revision/states.ts';
import type { Reader, Transaction } from '../core/database.ts';
import type { DeploymentRecord, Page } from '../core/records.ts';
import { findDeploymentStatement } from '../sql/deployments/find-deployment.ts';
import { listDeploymentsStatement } from '../sql/deployments/list-deployments.ts';
import { lockDeploymentStatement } from '../sql/deployments/lock-deployment.ts';
import { toDeploymentRecord } from './deployment-row.ts';
import { namePatterns } from './same-name.ts';

/** The deployment; null when the tenant has no deployment with this id. */
export async function findDeployment(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
): Promise<DeploymentRecord | null> {
  const [row] = await reader.run(findDeploymentStatement, { tenantId, deploymentId });
  return row === undefined ? null : toDeploymentRecord(row);
}

/**
 * Like findDeployment, with the row locked until the transaction ends. All code that changes a deployment or its
 * revisions takes this lock first, for several deployments in the order of their ids, so that no deadlocks occur. A
 * separate statement reads the row. A statement that waited for a lock sees the current row, but joins other tables in
 * their state at its start, and would miss new secrets.
 */
export async function findDeploymentForUpdate(
  transaction: Transaction,
  tenantId: string,
  deploymentId: string,
): Promise<DeploymentRecord | null> {
  const locked = await transaction.run(lockDeploymentStatement, { tenantId, deploymentId });
  return locked.length === 0 ? null : await findDeployment(transaction, tenantId, deploymentId);
}

/** Filters of the list. Absent filters have no effect. All filters must match. */
export interface DeploymentFilter {
  /** The exact name, in any of its spellings. */
  name?: string;
  /** Part of the name in any of its spellings, case-sensitive. `%` and `_` have no special meaning. */
  nameContains?: string;
  status?: DeploymentStatus;
  remoteReconciled?: boolean;
  /** A deployment matches if, for each key, it has one of the values of this key. */
  tagValueIds?: readonly string[];
  imageVersion?: string;
  deploymentType?: DeploymentType;
  deploymentIds?: readonly string[];
}

/** One page of a tenant's deployments, newest first, in one query. */
export async function listDeployments(
  reader: Reader,
  tenantId: string,
  { name, nameContains, status, remoteReconciled, ...others }: DeploymentFilter,
  { limit, offset }: Page,
): Promise<DeploymentRecord[]> {
  const filters = {
    ...others,
    name: name === undefined ? undefined : normalizedName(name),
    namePatterns: nameContains === undefined ? undefined : namePatterns(nameContains),
  };
  const list = listDeploymentsStatement(filters, { status, remoteReconciled, limit });
  const rows = await reader.run(list, { ...filters, tenantId, offset });
  return rows.map(toDeploymentRecord);
}
