import type { ListenerStatus } from '../revision/states.ts';
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

const LISTENER_REASONS: Readonly<Record<Exclude<ListenerStatus, 'CONNECTED'>, [Reason, string]>> = {
  NEVER_SEEN: ['ListenerNeverSeen', 'The listener of this deployment has never connected.'],
  LOST: ['ListenerLost', 'The lease of the listener expired, so the cluster is not observed.'],
  CLUSTER_UNREACHABLE: [
    'ClusterUnreachable',
    'The listener is connected, but its cluster does not respond, so the cluster is not observed.',
  ],
};

const UNWATCHED: Readonly<Record<'unseen' | 'returning', [Reason, string]>> = {
  unseen: [
    'NamespaceNotAllowed',
    'The listener is connected, but does not observe the namespace of the deployment.',
  ],
  returning: [
    'ListenerLost',
    'The listener has reconnected, but has not reported the state of its cluster yet.',
  ],
};

/** The causes why the deployment is not observed. Empty while the deployment is observed. */
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
      ? 'The deployment was never observed.'
      : `The last known state is ${duration(ageSeconds(now, known))} old.`;
  const at = listener.lastSeenAt ?? listener.createdAt;
  return [link({ level: 'listener', reason, message: `${text} ${seen}`, at })];
}
