import { normalizedName } from '../../../domain/core/name.ts';
import type { DeploymentType } from '../../../domain/deployment/source.ts';
import type { DeploymentStatus } from '../../../domain/revision/states.ts';
import type { Reader, Transaction } from '../core/database.ts';
import type { DeploymentRecord, Page } from '../core/records.ts';
import { DEPLOYMENT_COLUMNS, type DeploymentRow, toDeploymentRecord } from './deployment-row.ts';
import { hasName, isNameLike, namePatterns } from './same-name.ts';
import { REMOTE_RECONCILED, statusIs } from './status.ts';

const JOINED = 'JOIN listeners l ON l.id = d.listener_id LEFT JOIN secret_sets s ON s.id = d.secrets_id';
const FIND = `SELECT ${DEPLOYMENT_COLUMNS} FROM deployments d ${JOINED} WHERE d.id = $2 AND d.tenant_id = $1`;
const LOCK = `
SELECT id FROM deployments WHERE id = $2 AND tenant_id = $1
-- guard: lock-of-changes
FOR UPDATE
`;

/** The deployment; null when the tenant has no deployment with this id. */
export async function findDeployment(
  reader: Reader,
  tenantId: string,
  deploymentId: string,
): Promise<DeploymentRecord | null> {
  const [row] = await reader.query<DeploymentRow>(FIND, [tenantId, deploymentId]);
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
  const locked = await transaction.query<{ id: string }>(LOCK, [tenantId, deploymentId]);
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

/**
 * A deployment matches if it has one of the requested values for each of their keys. An unknown value matches no
 * deployment.
 */
const tagged = (parameter: string) => `d.id IN (
  SELECT t.deployment_id FROM deployment_tag_values t
  WHERE t.tenant_id = $1 AND t.tag_value_id = ANY(${parameter}::uuid[])
  GROUP BY t.deployment_id
  HAVING count(DISTINCT t.tag_key_id) = (
    SELECT count(DISTINCT coalesce(v.tag_key_id, wanted.id)) FROM unnest(${parameter}::uuid[]) AS wanted(id)
    LEFT JOIN tag_values v ON v.id = wanted.id AND v.tenant_id = $1))`;

/** The index of names is scanned for all stored spellings, then their rows are read. */
const spelled = (name: string) => `d.name = ANY(ARRAY(
  SELECT s.name FROM deployments s WHERE s.tenant_id = $1 AND ${hasName('s.name', name)}))`;

/**
 * The SQL and parameters of the list. The statement selects a page of ids first and then their rows, so that skipped
 * rows are never joined.
 */
function listStatement(tenantId: string, filter: DeploymentFilter, page: Page) {
  const values: unknown[] = [tenantId];
  const conditions = ['d.tenant_id = $1'];
  const where = (value: unknown, condition: (parameter: string) => string) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  const { name, nameContains } = filter;
  where(name === undefined ? undefined : normalizedName(name), spelled);
  where(nameContains === undefined ? undefined : namePatterns(nameContains), (patterns) =>
    isNameLike('d.name', `${patterns}::text[]`),
  );
  where(filter.imageVersion, (version) => `d.image_version = ${version}`);
  where(filter.deploymentType, (type) => `d.deployment_type = ${type}`);
  where(filter.deploymentIds, (ids) => `d.id = ANY(${ids}::uuid[])`);
  where(filter.tagValueIds, tagged);
  if (filter.status !== undefined) conditions.push(statusIs(filter.status));
  if (filter.remoteReconciled !== undefined) {
    conditions.push(filter.remoteReconciled ? REMOTE_RECONCILED : `NOT ${REMOTE_RECONCILED}`);
  }
  // The limit is a literal, because the planner must know how few rows are needed. The offset is a parameter, because
  // literals would result in too many different statements.
  values.push(page.offset);
  const text = `
    SELECT ${DEPLOYMENT_COLUMNS}
    FROM (
      SELECT d.id FROM deployments d
      WHERE ${conditions.join(' AND ')}
      ORDER BY d.id DESC LIMIT ${Math.trunc(page.limit)} OFFSET $${values.length}
    ) AS page
    JOIN deployments d ON d.id = page.id ${JOINED}
    ORDER BY d.id DESC`;
  return { text, values };
}

/** One page of a tenant's deployments, newest first, in one query. */
export async function listDeployments(
  reader: Reader,
  tenantId: string,
  filter: DeploymentFilter,
  page: Page,
): Promise<DeploymentRecord[]> {
  const { text, values } = listStatement(tenantId, filter, page);
  const rows = await reader.query<DeploymentRow>(text, values);
  return rows.map(toDeploymentRecord);
}
