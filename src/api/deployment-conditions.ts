import { type Condition, REASONS, type Reason } from '../domain/conditions.ts';
import { deletionMessage } from '../domain/deletion.ts';
import { isoTime } from '../domain/iso-time.ts';
import type { DeploymentRecord } from '../store/records.ts';

/** Conditions as answered: those of the cluster, corrected by what only the hub knows. */

function condition(
  status: Condition['status'],
  reason: Reason,
  since: Date,
  message: string = REASONS[reason],
): Condition {
  return { type: 'Ready', status, reason, message, lastTransitionTime: isoTime(since) };
}

/** Goes with an answer whose secrets cannot be decrypted. */
export function secretsUnreadable({ updatedAt }: DeploymentRecord): Condition {
  return {
    type: 'SecretsReadable',
    status: 'False',
    reason: 'SecretsUnreadable',
    message: `${REASONS.SecretsUnreadable} What runs goes on; a PATCH with all secrets, values included, mends it.`,
    lastTransitionTime: isoTime(updatedAt),
  };
}

const RETURNING = 'The listener was away, and has not told yet what it finds in its cluster.';

/** Why nobody looks at the deployment any more; null: somebody does. */
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

/** What was seen is told, but as unknown, since when nobody looks. */
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
      `${message} It was ${seen.status} (${seen.reason}) when last seen.`,
    ),
    type: seen.type,
  }));
}

function withReady(conditions: readonly Condition[], ready: Condition): Condition[] {
  return [...conditions.filter(({ type }) => type !== 'Ready'), ready];
}

function deletionRequested(at: Date, purgeAfter: Date | null): Condition {
  const message = deletionMessage(isoTime(at), isoTime(purgeAfter ?? at));
  return condition('False', 'DeletionRequested', at, message);
}

/** The conditions of a deployment. Never a `Ready` that speaks of an older generation than the wanted one. */
export function shownConditions(record: DeploymentRecord): Condition[] {
  const { listener, conditions, observation, generation } = record;
  if (record.deleteRequestedAt !== null) {
    return withReady(conditions, deletionRequested(record.deleteRequestedAt, record.purgeAfter));
  }
  if (!listener.everSeen) {
    return withReady(conditions, condition('False', 'ListenerNeverSeen', record.createdAt));
  }
  const blind = blindness(record);
  if (blind !== null) return unobserved(record, blind);
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready !== undefined && (ready.status !== 'True' || observation?.generation === generation)) {
    return conditions;
  }
  const seen = observation === null ? 'nothing of it' : `generation ${observation.generation}`;
  const message = `Generation ${generation} is wanted; the cluster was last seen with ${seen}.`;
  return withReady(conditions, condition('False', 'Reconciling', record.updatedAt, message));
}
