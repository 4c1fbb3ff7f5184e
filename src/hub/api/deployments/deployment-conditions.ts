import { type Condition, REASONS, type Reason } from '../../../domain/conditions/conditions.ts';
import { deletionMessage } from '../../../domain/deployment/deletion.ts';
import { deletionNote, withoutDeletionNote } from '../../../domain/deployment/deletion-hold.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';

/** The conditions in a response: the conditions from the cluster, corrected by facts that only the hub knows. */

function condition(
  status: Condition['status'],
  reason: Reason,
  since: Date,
  message: string = REASONS[reason],
): Condition {
  return { type: 'Ready', status, reason, message, lastTransitionTime: since.toISOString() };
}

/** The condition of a deployment whose secrets cannot be decrypted. */
export function secretsUnreadable({ updatedAt }: DeploymentRecord): Condition {
  return {
    type: 'SecretsReadable',
    status: 'False',
    reason: 'SecretsUnreadable',
    message:
      `${REASONS.SecretsUnreadable} Running workloads are not affected. To fix the problem, send a PATCH with ` +
      `all secrets and their values.`,
    lastTransitionTime: updatedAt.toISOString(),
  };
}

const RETURNING = 'The listener has reconnected, but has not reported its inventory yet.';

/** Why the deployment is not observed; null: the deployment is observed. */
function blindness({ listener, namespace }: DeploymentRecord): readonly [Reason, string] | null {
  const { alive, leased, returning = false, unseen = null } = listener;
  if (!alive && leased && returning) return ['ListenerLost', RETURNING];
  if (!alive) {
    const reason = leased ? 'ClusterUnreachable' : 'ListenerLost';
    return [reason, REASONS[reason]];
  }
  if (unseen === null) return null;
  const message =
    unseen === ''
      ? REASONS.NamespaceNotAllowed
      : `The listener cannot read the namespace ${namespace}: ${unseen}.`;
  return ['NamespaceNotAllowed', message];
}

/** The observed conditions, with status Unknown since the observation ended. */
function unobserved(
  { listener, conditions, createdAt, updatedAt }: DeploymentRecord,
  [reason, message]: readonly [Reason, string],
): Condition[] {
  const since = listener.lostAt ?? (listener.alive ? updatedAt : createdAt);
  if (conditions.length === 0) return [condition('Unknown', reason, since, message)];
  return conditions.map((seen) => ({
    ...condition(
      'Unknown',
      reason,
      since,
      `${message} The condition was ${seen.status} (${seen.reason}) at the last observation.`,
    ),
    type: seen.type,
  }));
}

function withReady(conditions: readonly Condition[], ready: Condition): Condition[] {
  return [...conditions.filter(({ type }) => type !== 'Ready'), ready];
}

/**
 * `Ready` of a deployment that is being deleted. If a problem of the removal was observed, it determines the reason.
 */
function deletionReady(
  record: DeploymentRecord,
  at: Date,
  blind: readonly [Reason, string] | null,
): Condition {
  const asked = deletionMessage(at.toISOString(), (record.purgeAfter ?? at).toISOString());
  if (blind !== null) {
    return condition(
      'False',
      'DeletionRequested',
      at,
      `${asked}. The deployment is not observed now: ${blind[1]}`,
    );
  }
  const note = deletionNote(record.conditions);
  if (note === undefined) return condition('False', 'DeletionRequested', at, asked);
  return { ...note, type: 'Ready', message: `${note.message}; ${asked}` };
}

/** Objects that are being removed can disappear at any moment, so earlier conditions are not shown as current. */
function removed(conditions: readonly Condition[], since: Date): Condition[] {
  return conditions.map(({ type, status, reason }) => ({
    ...condition(
      'Unknown',
      'BeingDeleted',
      since,
      `The deployment is being removed from its cluster. The condition was ${status} (${reason}) at the last ` +
        `observation.`,
    ),
    type,
  }));
}

/** Time since which the objects in the cluster are being removed; null: the deployment can still be restored. */
export function removedSince(
  { deleteRequestedAt, purgeAfter }: Pick<DeploymentRecord, 'deleteRequestedAt' | 'purgeAfter'>,
  now: Date,
): Date | null {
  if (deleteRequestedAt === null) return null;
  const since = purgeAfter ?? deleteRequestedAt;
  return since <= now ? since : null;
}

/**
 * Conditions during a deletion. Workloads are still observed in the grace period. After the grace period, all objects
 * are removed.
 */
function deletionConditions(record: DeploymentRecord, at: Date, now: Date): Condition[] {
  const { listener } = record;
  const seen = withoutDeletionNote(record.conditions);
  const blind = listener.everSeen ? blindness(record) : null;
  const since = removedSince(record, now);
  const others = since !== null ? removed(seen, since) : blind === null ? seen : unobserved(record, blind);
  return withReady(others, deletionReady(record, at, blind));
}

/** The conditions of a deployment. `Ready` is never shown from an older generation than the desired generation. */
export function shownConditions(record: DeploymentRecord, now = new Date()): Condition[] {
  const { listener, conditions, observation, generation } = record;
  if (record.deleteRequestedAt !== null) return deletionConditions(record, record.deleteRequestedAt, now);
  if (!listener.everSeen) {
    return withReady(conditions, condition('False', 'ListenerNeverSeen', record.createdAt));
  }
  const blind = blindness(record);
  if (blind !== null) return unobserved(record, blind);
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready !== undefined && (ready.status !== 'True' || observation?.generation === generation)) {
    return conditions;
  }
  const seen = observation === null ? 'no generation' : `generation ${observation.generation}`;
  const message = `Generation ${generation} is requested; the last report from the cluster has ${seen}.`;
  return withReady(conditions, condition('False', 'Reconciling', record.updatedAt, message));
}
