import { REASONS } from '../domain/conditions.ts';
import { uuidv7 } from '../domain/id.ts';
import type { DeploymentStatus, RevisionStatus } from '../domain/states.ts';
import type { Transaction } from './database.ts';
import { type Actor, actorColumns } from './events.ts';

/** In the order of ids, as everybody who locks several: what changes a status meanwhile comes before or after. */
const LOCK = `
SELECT id, tenant_id, recorded_status AS status, observed_at IS NOT NULL AS observed
FROM deployments WHERE listener_id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`;

const ON_THEIR_WAY = `
SELECT r.id, r.tenant_id, r.deployment_id, r.number, r.status
FROM revisions r JOIN deployments d ON d.id = r.deployment_id
WHERE d.listener_id = ANY($1::uuid[]) AND r.status IN ('AWAITING_DEPLOY', 'DEPLOYING') ORDER BY r.id`;

/** One statement, whatever the number. */
const TELL = `
INSERT INTO events (id, tenant_id, deployment_id, revision_id, actor_kind, actor_id, actor_name, reason, message, details)
SELECT id, tenant_id, deployment_id, revision_id, $2::text, $3::uuid, $4::text, $5::text, message, details
FROM jsonb_to_recordset($1::jsonb) AS e(id uuid, tenant_id uuid, deployment_id uuid, revision_id uuid, message text,
  details jsonb)`;

interface DeploymentRow {
  id: string;
  tenant_id: string;
  status: DeploymentStatus;
  observed: boolean;
}

interface RevisionRow {
  id: string;
  tenant_id: string;
  deployment_id: string;
  number: number;
  status: RevisionStatus;
}

/**
 * Writes to the history of each deployment, and of each revision on its way, that nobody sees any more how it fares, or
 * that somebody does again: UNKNOWN is derived at reading (status.ts), so no row of theirs changes. Once a loss, not
 * once a look; the caller has locked the listeners.
 */
export async function tellObservation(
  transaction: Transaction,
  listenerIds: readonly string[],
  reason: 'ListenerLost' | 'ClusterUnreachable' | 'ListenerReturned',
  actor: Actor,
): Promise<void> {
  const moved = (status: string) =>
    reason === 'ListenerReturned' ? { from: 'UNKNOWN', to: status } : { from: status, to: 'UNKNOWN' };
  const deployments = await transaction.query<DeploymentRow>(LOCK, [listenerIds]);
  const revisions = await transaction.query<RevisionRow>(ON_THEIR_WAY, [listenerIds]);
  const events = [
    ...deployments
      .filter(({ status, observed }) => observed && status !== 'AWAITING_DELETE')
      .map(({ id, tenant_id, status }) => {
        const details = moved(status);
        const message = `Status is ${details.to}, it was ${details.from}: ${REASONS[reason]}`;
        return { id: uuidv7(), tenant_id, deployment_id: id, revision_id: null, message, details };
      }),
    ...revisions.map(({ id, tenant_id, deployment_id, number, status }) => {
      const details = moved(status);
      const message = `Revision ${number} is ${details.to}: ${REASONS[reason]}`;
      return { id: uuidv7(), tenant_id, deployment_id, revision_id: id, message, details };
    }),
  ];
  if (events.length === 0) return;
  const { actorKind, actorId, actorName } = actorColumns(actor);
  await transaction.query(TELL, [JSON.stringify(events), actorKind, actorId, actorName, reason]);
}
