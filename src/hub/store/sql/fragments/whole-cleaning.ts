/**
 * SQL that requests the removal of all images of deployments from the platform's registry.
 * @param from SQL of the deployments, with the columns of tombstones
 */
export const cleanWhole = (from: string) => `
INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name, whole) SELECT id, tenant_id, app_name, true FROM ${from}
ON CONFLICT (deployment_id) DO UPDATE SET whole = true, attempts = repository_cleanings.attempts + 1, next_attempt_at = now()`;
