import type { DeploymentStatus } from '../../../../domain/revision/states.ts';
import { statement } from '../../core/statement.ts';
import { DEPLOYMENT_STATUS } from '../../deployments/status.ts';
import { pollDue } from '../fragments/branch-polls.ts';
import { LISTENER_OWNER, type ListenerOwner } from '../fragments/listener-owner.ts';

const DUE = 'd.generation > d.acknowledged_generation AND d.next_attempt_at <= now()';
const POLL_DUE = pollDue(':soonOnly');
/** Unix time in seconds of the earliest row. NULL: no row matches. */
const earliest = (column: string, condition: string) =>
  `extract(epoch FROM min(${column}) FILTER (WHERE ${condition}))::float8`;

/** Counts all deployments in one pass over the table, which returns one row per status and owner of the listener. */
export const countDeploymentsStatement = statement<
  { /** Whether only branches after a push whose order was uncertain are polled. */ soonOnly: boolean },
  {
    status: DeploymentStatus;
    owner: ListenerOwner;
    count: number;
    due: number;
    dueSince: number | null;
    unreconciled: number;
    polls: number;
    pollSince: number | null;
  }
>(
  'count_deployments',
  `SELECT ${DEPLOYMENT_STATUS} AS status, ${LISTENER_OWNER} AS owner, count(*)::int AS count,
  count(*) FILTER (WHERE ${DUE})::int AS due, ${earliest('d.next_attempt_at', DUE)} AS "dueSince",
  count(*) FILTER (WHERE d.observed_generation IS DISTINCT FROM d.generation)::int AS unreconciled,
  count(*) FILTER (WHERE ${POLL_DUE})::int AS polls, ${earliest('d.next_poll_at', POLL_DUE)} AS "pollSince"
FROM deployments d JOIN listeners l ON l.id = d.listener_id GROUP BY 1, 2`,
);
