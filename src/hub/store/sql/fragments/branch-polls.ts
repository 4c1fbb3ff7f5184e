/** SQL of the deployments that are built on push, and of the times when their branches are polled. */

/** SQL: whether a deployment is built on push. @param alias alias of the deployments */
export const builtOnPush = (
  alias: string,
) => `${alias}.source = 'git_host' AND ${alias}.delete_requested_at IS NULL
  AND ${alias}.source_config -> 'build_on_push' = 'true'::jsonb`;

/**
 * SQL: selects all due branches (alias `d`), or only branches after a push whose order was uncertain.
 * @param soonOnly a parameter of the statement
 */
export const pollWanted = (soonOnly: string) =>
  `(NOT ${soonOnly}::boolean OR d.branch_watch -> 'soon' = 'true'::jsonb)`;

/**
 * SQL: whether the branch of the deployment `d` is due for a poll.
 * @param soonOnly a parameter: only branches after a push whose order was uncertain
 */
export const pollDue = (soonOnly: string) =>
  `d.next_poll_at <= now() AND ${builtOnPush('d')} AND ${pollWanted(soonOnly)}`;

/**
 * SQL of next_poll_at for a deployment with this source and source_config. The value is NULL for a deployment that is
 * not built on push, otherwise the current value, or a time within a minute.
 */
export const nextPollSql = (source: string, sourceConfig: string, present = 'NULL::timestamptz') =>
  `CASE WHEN ${source} = 'git_host' AND ${sourceConfig} -> 'build_on_push' = 'true'::jsonb
    THEN coalesce(${present}, now() + random() * interval '1 minute') END`;
