import type { ClusterObject, ObjectContainer } from '../api/types.ts';
import type { Tone } from '../ui/tone.ts';

/** How states of objects and containers are shown. */

const TONES: Readonly<Record<ClusterObject['state'], Tone>> = {
  ready: 'good',
  progressing: 'busy',
  failed: 'bad',
  inactive: 'off',
  terminating: 'busy',
  unknown: 'unsure',
};

export interface StateText {
  readonly tone: Tone;
  readonly text: string;
}

/** The state of an object as shape and text. Berth does not read Secrets, so that theirs is not a problem. */
export function stateOf({ kind, state }: Pick<ClusterObject, 'kind' | 'state'>, isStale: boolean): StateText {
  if (kind === 'Secret') return { tone: 'off', text: 'not read' };
  if (isStale) return { tone: 'unsure', text: `last known: ${state}` };
  return { tone: TONES[state] ?? 'unsure', text: state };
}

/** The state of a container. A container that ended as intended is switched off. */
export function containerTone({ state, ready, reason, exit_code: exitCode, init }: ObjectContainer): Tone {
  switch (state) {
    case 'running':
      return ready || init ? 'good' : 'busy';
    case 'terminated':
      return exitCode === 0 ? 'off' : 'bad';
    case 'waiting':
      return isStarting(reason) ? 'busy' : 'bad';
    default:
      return 'unsure';
  }
}

/** Reasons with which Kubernetes starts each container. All others are problems. */
const STARTING: ReadonlySet<string | undefined> = new Set([
  undefined,
  'ContainerCreating',
  'PodInitializing',
]);
const isStarting = (reason: string | undefined) => STARTING.has(reason);

/** Containers of a pod that are ready, such as `1 of 2`. Init containers end before. */
export function readyText(containers: readonly ObjectContainer[]): string {
  const main = containers.filter(({ init }) => !init);
  return `${main.filter(({ ready }) => ready).length} of ${main.length}`;
}

export const restartsOf = (containers: readonly ObjectContainer[]): number =>
  containers.reduce((sum, { restarts }) => sum + restarts, 0);
