import { statement } from '../../core/statement.ts';
import { DEPLOYMENT_COLUMNS, type DeploymentRow } from '../../deployments/deployment-row.ts';

/** The tables that DEPLOYMENT_COLUMNS needs, besides `d`. */
export const DEPLOYMENT_JOINS =
  'JOIN listeners l ON l.id = d.listener_id LEFT JOIN secret_sets s ON s.id = d.secrets_id';

/** A deployment with all values of its response. */
export const findDeploymentStatement = statement<{ tenantId: string; deploymentId: string }, DeploymentRow>(
  'find_deployment',
  `SELECT ${DEPLOYMENT_COLUMNS} FROM deployments d ${DEPLOYMENT_JOINS}
WHERE d.id = :deploymentId AND d.tenant_id = :tenantId`,
);
