import type { Reason } from './conditions.ts';
import {
  ageSeconds,
  type Cause,
  duration,
  type ExplainFacts,
  isCurrent,
  knownAt,
  link,
} from './explain-facts.ts';
import type { ListenerStatus } from './states.ts';

const LISTENER_REASONS: Readonly<Record<Exclude<ListenerStatus, 'CONNECTED'>, [Reason, string]>> = {
  NEVER_SEEN: ['ListenerNeverSeen', 'The listener of this deployment has never connected.'],
  LOST: ['ListenerLost', 'The lease of the listener ran out: the cluster cannot be observed.'],
  CLUSTER_UNREACHABLE: [
    'ClusterUnreachable',
    'The listener is connected, but its cluster does not answer: it cannot be observed.',
  ],
};

const UNWATCHED: Readonly<Record<'unseen' | 'returning', [Reason, string]>> = {
  unseen: [
    'NamespaceNotAllowed',
    'The listener is connected, but does not read the namespace of the deployment.',
  ],
  returning: [
    'ListenerLost',
    'The listener was away; it is back, and has not told yet what it finds in its cluster.',
  ],
};

/** Why nobody sees what becomes of the deployment; none where somebody does. */
export function listenerCause(facts: ExplainFacts): Cause[] {
  const { listener, deployment, now } = facts;
  if (isCurrent(facts)) return [];
  const [reason, text] =
    listener.status === 'CONNECTED'
      ? UNWATCHED[deployment.unwatched ?? 'returning']
      : LISTENER_REASONS[listener.status];
  const known = knownAt(facts);
  const seen =
    known === null
      ? 'Nothing of the deployment was ever seen.'
      : `What is known of it is ${duration(ageSeconds(now, known))} old.`;
  const at = listener.lastSeenAt ?? listener.createdAt;
  return [link({ level: 'listener', reason, message: `${text} ${seen}`, at })];
}
