/** O1: the rows of the database, in a form that can be compared between runs. */
import { isTerminalStatus, REVISION_STATUSES } from '../../../src/domain/revision/states.ts';
import type { FaultWorld } from '../world.ts';

interface Row extends Record<string, unknown> {
  readonly id: string;
  readonly name: string;
}

const DEPLOYMENTS = `
SELECT id, name, source, source_config, source_revision_config, image_version, generation, observed_generation,
  acknowledged_generation >= generation AS acknowledged, conditions, url, observed_off, data_ready, in_place_failure,
  volume_gi, recorded_status, latest_revision_id, active_revision_id, delete_requested_at IS NOT NULL AS deleting,
  (SELECT name FROM tracing_projects WHERE id = tracing_project_id) AS tracing_project,
  (SELECT count(*)::int FROM secret_sets WHERE deployment_id = deployments.id) AS secret_sets
FROM deployments ORDER BY name, created_at`;
/** Without started_at, the time when the rollout was *observed*: a listener that was down during the rollout has none. */
const REVISIONS = `
SELECT r.id, d.name, r.number, r.status, r.reason, r.message, r.culprit, r.source_revision_config, r.environment_gone,
  r.secrets_id IS NOT NULL AS secrets, r.resolved_image, r.deployed_at IS NOT NULL AS deployed
FROM revisions r JOIN deployments d ON d.id = r.deployment_id ORDER BY d.name, r.number`;
/** Without times, and without the epoch in which the state was reported. */
const TASKS = `
SELECT t.id, d.name, t.name AS resource, t.resource_uid IS NOT NULL AS reported, t.origin, t.schedule, t.revision_number,
  t.component, t.command, t.state, t.reason, t.message, t.exit_code, t.cancel_requested_at IS NOT NULL AS cancelled,
  t.actor_kind, t.ended_at IS NOT NULL AS ended
FROM tasks t JOIN deployments d ON d.id = t.deployment_id ORDER BY d.name, t.created_at, t.id`;
/**
 * Actions of users, and the outcome of each revision. Each must occur once, regardless of retries. Observed progress is
 * excluded, because it depends on when a process checked. For a deleted deployment, only the message has the number.
 */
const EVENTS = `
SELECT 'event ' || reason AS what, count(*)::int AS times FROM events
WHERE actor_kind = 'api_key' AND at >= $1 GROUP BY 1
UNION ALL
SELECT 'event ' || (e.details->>'to') || ' of ' ||
  coalesce(d.name || ' ' || r.number, 'one that is gone ' || substring(e.message FROM 'Revision (\\d+) is')) AS what,
  count(*)::int AS times
FROM events e LEFT JOIN revisions r ON r.id = e.revision_id LEFT JOIN deployments d ON d.id = r.deployment_id
WHERE e.at >= $1 AND e.revision_id IS NOT NULL AND e.details->>'to' = ANY ($2) GROUP BY 1`;
/** The records of deleted deployments. They do not contain when they are checked again, because this depends on a timer. */
const TOMBSTONES = `
SELECT 'tombstone ' || app_name || ' of generation ' || generation AS what, count(*)::int AS times
FROM tombstones WHERE purged_at >= $1 GROUP BY 1`;

export interface Rows {
  readonly named: readonly { readonly what: string; readonly row: Row }[];
  readonly counted: readonly { readonly what: string; readonly times: number }[];
}

/** @param since start of the plan, because older events belong to other plans */
export async function rowsOf(world: FaultWorld, since: Date): Promise<Rows> {
  const [deployments, revisions, tasks, events, tombstones] = await Promise.all([
    world.sql<Row>(DEPLOYMENTS),
    world.sql<Row>(REVISIONS),
    world.sql<Row>(TASKS),
    world.sql<Rows['counted'][number]>(EVENTS, [since, REVISION_STATUSES.filter(isTerminalStatus)]),
    world.sql<Rows['counted'][number]>(TOMBSTONES, [since]),
  ]);
  return {
    named: [
      ...deployments.map((row) => ({ what: `deployment ${row.name}`, row })),
      ...revisions.map((row) => ({ what: `revision ${row.name} ${row['number']}`, row })),
      ...tasks.map((row, index) => ({ what: `task ${row.name} ${index + 1}`, row })),
    ],
    counted: [...events, ...tombstones],
  };
}

/** Ids, each with a text that replaces it. */
export const idsOf = ({ named }: Rows): ReadonlyMap<string, string> =>
  new Map(named.map(({ what, row }) => [row.id, `<${what}>`]));
