import type { DeploymentType } from '../../../../domain/deployment/source.ts';
import type { DeploymentStatus } from '../../../../domain/revision/states.ts';
import { assembled, type Statement } from '../../core/statement.ts';
import { DEPLOYMENT_COLUMNS, type DeploymentRow } from '../../deployments/deployment-row.ts';
import { hasName, isNameLike } from '../../deployments/same-name.ts';
import { REMOTE_RECONCILED, statusIs } from '../../deployments/status.ts';
import { DEPLOYMENT_JOINS } from './find-deployment.ts';

/** Values of the filters. Absent filters have no effect. */
export interface ListFilters {
  /** A normalized name. */
  name?: string | undefined;
  /** LIKE patterns for a part of the name. */
  namePatterns?: readonly string[] | undefined;
  imageVersion?: string | undefined;
  deploymentType?: DeploymentType | undefined;
  deploymentIds?: readonly string[] | undefined;
  tagValueIds?: readonly string[] | undefined;
}

export type ListParameters = ListFilters & { tenantId: string; offset: number };

/** The index of names is scanned for all stored spellings, then their rows are read. */
const SPELLED = `d.name = ANY(ARRAY(
  SELECT s.name FROM deployments s WHERE s.tenant_id = :tenantId AND ${hasName('s.name', ':name')}))`;

/**
 * A deployment matches if it has one of the requested values for each of their keys. An unknown value matches no
 * deployment.
 */
const TAGGED = `d.id IN (
  SELECT t.deployment_id FROM deployment_tag_values t
  WHERE t.tenant_id = :tenantId AND t.tag_value_id = ANY(:tagValueIds::uuid[])
  GROUP BY t.deployment_id
  HAVING count(DISTINCT t.tag_key_id) = (
    SELECT count(DISTINCT coalesce(v.tag_key_id, wanted.id)) FROM unnest(:tagValueIds::uuid[]) AS wanted(id)
    LEFT JOIN tag_values v ON v.id = wanted.id AND v.tenant_id = :tenantId))`;

const CONDITIONS: readonly (readonly [filter: keyof ListFilters, condition: string])[] = [
  ['name', SPELLED],
  ['namePatterns', isNameLike('d.name', ':namePatterns::text[]')],
  ['imageVersion', 'd.image_version = :imageVersion'],
  ['deploymentType', 'd.deployment_type = :deploymentType'],
  ['deploymentIds', 'd.id = ANY(:deploymentIds::uuid[])'],
  ['tagValueIds', TAGGED],
];

const statementOf = assembled<ListParameters, DeploymentRow>('list_deployments');

/**
 * The statement of a list with these filters. It selects a page of ids first and then their rows, so that skipped rows
 * are never joined. The limit is a literal, because the planner must know how few rows are needed. The offset is a
 * parameter, because literals would result in too many different statements.
 */
export function listDeploymentsStatement(
  filters: ListFilters,
  {
    status,
    remoteReconciled,
    limit,
  }: { status?: DeploymentStatus | undefined; remoteReconciled?: boolean | undefined; limit: number },
): Statement<ListParameters, DeploymentRow> {
  const conditions = CONDITIONS.flatMap(([filter, condition]) =>
    filters[filter] === undefined ? [] : [condition],
  );
  if (status !== undefined) conditions.push(statusIs(status));
  if (remoteReconciled !== undefined)
    conditions.push(remoteReconciled ? REMOTE_RECONCILED : `NOT ${REMOTE_RECONCILED}`);
  return statementOf(`
SELECT ${DEPLOYMENT_COLUMNS}
FROM (
  SELECT d.id FROM deployments d
  WHERE ${['d.tenant_id = :tenantId', ...conditions].join(' AND ')}
  ORDER BY d.id DESC LIMIT ${Math.trunc(limit)} OFFSET :offset
) AS page
JOIN deployments d ON d.id = page.id ${DEPLOYMENT_JOINS}
ORDER BY d.id DESC`);
}
