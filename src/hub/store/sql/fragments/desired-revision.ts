/** SQL of the revisions that a cluster runs, and of their environments. Alias `d`: deployments. */

/** Number of the newest revisions whose environments are kept. */
export const KEPT_REVISIONS = 10;
/**
 * Maximum number of environments that an item removes. Each environment costs the listener one or two calls. Further
 * environments follow with the next item.
 */
export const STALE_AT_ONCE = 500;

/**
 * The revision that the cluster should run (alias `d`), which is the newest revision with an image. While the first
 * revision is being built, the result is this revision, so that its data services start during the build. If only
 * failed builds exist, no revision should run.
 */
export const DESIRED_REVISION = `coalesce(
  (SELECT r.id FROM revisions r WHERE r.deployment_id = d.id AND r.status NOT IN
    ('CREATING', 'AWAITING_BUILD', 'BUILDING', 'CREATE_FAILED', 'BUILD_FAILED', 'SKIPPED') ORDER BY r.number DESC LIMIT 1),
  (SELECT r.id FROM revisions r WHERE r.deployment_id = d.id AND r.status IN
    ('CREATING', 'AWAITING_BUILD', 'BUILDING') ORDER BY r.number DESC LIMIT 1))`;

/**
 * Whether the environment of a revision (alias `r`) of a deployment (alias `d`) is no longer needed and may still
 * exist.
 * @param wanted SQL of the desired revision's number
 */
export const leavesEnvironment = (wanted: string) =>
  `r.deployment_id = d.id AND r.secrets_id IS NOT NULL AND NOT r.environment_gone
   AND r.number <= ${wanted} - ${KEPT_REVISIONS} AND r.id IS DISTINCT FROM d.active_revision_id`;

/**
 * Numbers of the revisions whose environments a purge of a deployment (alias `d`) removes. Each environment costs a
 * call. Removed environments are included if a backup of the cluster may have restored them.
 */
export const PURGED_ENVIRONMENTS = `SELECT r.number FROM revisions r
  WHERE r.deployment_id = d.id AND r.secrets_id IS NOT NULL AND (NOT r.environment_gone
    OR r.number > (SELECT max(n.number) FROM revisions n WHERE n.deployment_id = d.id) - ${STALE_AT_ONCE})
  ORDER BY r.number`;
