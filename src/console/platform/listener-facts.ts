import type { Listener } from '../api/types.ts';
import type { Tone } from '../ui/tone.ts';

/** What the API knows about a listener, in words. */

const TONES: Readonly<Record<Listener['status'], Tone>> = {
  CONNECTED: 'good',
  CLUSTER_UNREACHABLE: 'bad',
  LOST: 'bad',
  NEVER_SEEN: 'off',
};

export const toneOfListener = (status: Listener['status']): Tone => TONES[status] ?? 'unsure';

/** What needs attention, with the next step. */
export interface ListenerFinding {
  readonly message: string;
  readonly next: string;
}

const RUN_DOCTOR = 'run the doctor in the pod of the listener';

const OF_STATUS: Readonly<Record<Listener['status'], ListenerFinding | null>> = {
  CONNECTED: null,
  NEVER_SEEN: {
    message: 'No listener has taken the lease yet.',
    next: 'start a listener with this id and a key with the scope listeners:run',
  },
  LOST: {
    message: 'The lease has expired, so the states of its deployments are UNKNOWN.',
    next: `check that the listener runs and reaches the hub, then ${RUN_DOCTOR}`,
  },
  CLUSTER_UNREACHABLE: {
    message: 'The listener runs, but its cluster does not respond.',
    next: `check the API server of the cluster, then ${RUN_DOCTOR}`,
  },
};

function unknownResources(count: number): ListenerFinding[] {
  if (count === 0) return [];
  return [
    {
      message: `The cluster has ${count} ManagedDeployments whose ids the hub does not know. Berth does not change them.`,
      next: 'compare the events UnknownResource with your backups; delete the resources only if nothing needs their pods',
    },
  ];
}

export function listenerFindings({ status, unknown_resources: unknown }: Listener): ListenerFinding[] {
  const ofStatus = OF_STATUS[status];
  return [...(ofStatus == null ? [] : [ofStatus]), ...unknownResources(unknown)];
}

/** Numbers of deployments that wait for their cluster, by listener. The key of the listener of the platform is null. */
export function waitingByListener(
  deployments: readonly { readonly source_config: { readonly listener_id?: string | null } }[],
): ReadonlyMap<string | null, number> {
  const counts = new Map<string | null, number>();
  for (const { source_config: config } of deployments) {
    const id = config.listener_id ?? null;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** The lag of a listener in words. @param isComplete whether all deployments that wait were counted */
export function lagText(count: number, isComplete: boolean): string {
  if (count === 0) return isComplete ? 'none' : 'not known';
  return `${count}${isComplete ? '' : ' or more'} ${count === 1 ? 'deployment waits' : 'deployments wait'}`;
}

/** The command that examines a listener. It runs in the cluster of the listener. */
export const DOCTOR_COMMAND =
  'kubectl -n berth-system exec deploy/berth-listener -- node /app/src/main.js listener doctor';
