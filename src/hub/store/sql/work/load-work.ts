import {
  deployments,
  integrations,
  revisions,
  secretSets,
  type tenants,
  type tracingProjects,
} from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';
import { DEPLOYMENT_COLUMNS, type DeploymentRow } from '../../deployments/deployment-row.ts';
import {
  DESIRED_REVISION,
  leavesEnvironment,
  PURGED_ENVIRONMENTS,
  STALE_AT_ONCE,
} from '../fragments/desired-revision.ts';
import { joined, type RowOf } from '../fragments/joined.ts';

/** The revision that the cluster should build (aliases `d`, and `w` of the desired revision). */
const BUILD_REVISION = `(SELECT r.id FROM revisions r WHERE r.deployment_id = d.id AND d.source = 'git_host'
  AND d.delete_requested_at IS NULL AND r.status IN ('AWAITING_BUILD', 'BUILDING')
  AND r.number >= coalesce(w.number, 0) ORDER BY r.number DESC LIMIT 1)`;

/**
 * Whether the deployment (alias `d`) is being deleted and its grace period has ended. During the grace period, the
 * deployment is handed out unchanged and suspended.
 */
const PURGING = '(d.delete_requested_at IS NOT NULL AND coalesce(d.purge_after <= now(), true))';

const SEALED = ['id', 'tenantId', 'deploymentId', 'keyId', 'sealed'] as const;

/** The revision to run, and its secrets. */
export const WANTED = joined(revisions, 'w', [
  'id',
  'number',
  'status',
  'reason',
  'message',
  'sourceRevisionConfig',
  'resolvedImage',
  'createdAt',
]);
export const WANTED_SECRETS = joined(secretSets, 'ws', SEALED);

/** The revision to build, its secrets, and the integration for its repository. */
export const BUILD = joined(revisions, 'b', ['id', 'number', 'status', 'sourceRevisionConfig', 'createdAt']);
export const BUILD_SECRETS = joined(secretSets, 'bs', SEALED);
export const INTEGRATION = joined(integrations, 'i', [
  'id',
  'tenantId',
  'provider',
  'hostUrl',
  'keyId',
  'sealed',
]);

/** The active revision, if it differs from the revision to run, and its secrets. */
export const ACTIVE = joined(revisions, 'a', ['id', 'number']);
export const ACTIVE_SECRETS = joined(secretSets, 'acs', SEALED);

/** A work item. */
export type LoadedWork = DeploymentRow &
  Columns<typeof deployments, 'attempts' | 'workVersion' | 'keepWorkloads' | 'removingClaim'> & {
    purging: boolean;
    tracingProject: Columns<typeof tracingProjects, 'name'>['name'];
    tenantQuotas: Columns<typeof tenants, 'quotas'>['quotas'];
    /** Numbers of the revisions whose environments the item removes. */
    revisionNumbers: number[];
  } & RowOf<typeof WANTED> &
  RowOf<typeof WANTED_SECRETS> &
  RowOf<typeof BUILD> &
  RowOf<typeof BUILD_SECRETS> &
  RowOf<typeof INTEGRATION> &
  RowOf<typeof ACTIVE> &
  RowOf<typeof ACTIVE_SECRETS>;

/**
 * The complete content of work items, in the order of the ids. OFFSET 0 is needed because with row-level security, an
 * index lookup works only for a value that is already computed, not for the result of a subquery.
 */
export const loadWorkStatement = statement<{ deploymentIds: readonly string[] }, LoadedWork>(
  'load_work',
  `SELECT ${DEPLOYMENT_COLUMNS}, ${columns(deployments, 'd', ['attempts', 'workVersion', 'keepWorkloads', 'removingClaim'])},
  ${PURGING} AS purging, p.name AS "tracingProject", t.quotas AS "tenantQuotas",
  ${[WANTED, WANTED_SECRETS, BUILD, BUILD_SECRETS, INTEGRATION, ACTIVE, ACTIVE_SECRETS]
    .map((part) => part.columns)
    .join(',\n  ')},
  CASE WHEN NOT ${PURGING} THEN
    ARRAY(SELECT r.number FROM revisions r WHERE ${leavesEnvironment('w.number')}
      ORDER BY r.number DESC LIMIT ${STALE_AT_ONCE})
  ELSE ARRAY(${PURGED_ENVIRONMENTS}) END AS "revisionNumbers"
FROM unnest(:deploymentIds::uuid[]) WITH ORDINALITY AS due(id, turn)
  JOIN deployments d ON d.id = due.id AND d.id = ANY(:deploymentIds::uuid[])
  JOIN listeners l ON l.id = d.listener_id
  JOIN tenants t ON t.id = d.tenant_id
  JOIN tracing_projects p ON p.id = d.tracing_project_id
  LEFT JOIN secret_sets s ON false
  LEFT JOIN LATERAL (SELECT ${DESIRED_REVISION} AS id OFFSET 0) AS wanted ON true
  LEFT JOIN revisions w ON w.id = wanted.id
  LEFT JOIN secret_sets ws ON ws.id = w.secrets_id
  LEFT JOIN LATERAL (SELECT ${BUILD_REVISION} AS id OFFSET 0) AS building ON true
  LEFT JOIN revisions b ON b.id = building.id
  LEFT JOIN secret_sets bs ON bs.id = b.secrets_id
  LEFT JOIN integrations i ON b.id IS NOT NULL AND i.tenant_id = d.tenant_id
    AND i.id = (d.source_config ->> 'integration_id')::uuid
  LEFT JOIN revisions a ON a.id = d.active_revision_id AND a.id IS DISTINCT FROM w.id
  LEFT JOIN secret_sets acs ON acs.id = a.secrets_id
ORDER BY due.turn`,
);
