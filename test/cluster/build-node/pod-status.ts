import { NODE_ADDRESS } from './interface.ts';
import type { Container, ContainerState, Pod, Terminated } from './pod-types.ts';

/** Derives the status of a pod from the states of its containers, like a kubelet. Pure. */

export interface PodFacts {
  readonly pod: Pod;
  /** By container. A container without a state is waiting. */
  readonly states: ReadonlyMap<string, ContainerState>;
  readonly startTime: string;
  /** Failure of the whole pod, in addition to those of its containers. */
  readonly failure?: { readonly reason: string; readonly message: string } | undefined;
  /** Time of the last transition of a condition. */
  readonly since: (type: string, holds: boolean) => string;
}

const exitOf = (state: ContainerState | undefined) =>
  state !== undefined && 'terminated' in state ? state.terminated.exitCode : undefined;

function phaseOf({ pod, states, failure }: PodFacts): string {
  if (failure !== undefined) return 'Failed';
  const { initContainers = [], containers } = pod.spec;
  if (initContainers.some(({ name }) => (exitOf(states.get(name)) ?? 0) !== 0)) return 'Failed';
  const exits = containers.map(({ name }) => exitOf(states.get(name)));
  if (exits.every((exit) => exit !== undefined)) {
    return exits.every((exit) => exit === 0) ? 'Succeeded' : 'Failed';
  }
  const isStarted = containers.some(
    ({ name }) => states.has(name) && !('waiting' in (states.get(name) ?? {})),
  );
  return isStarted ? 'Running' : 'Pending';
}

function containerStatus({ name, image = '' }: Container, facts: PodFacts, isInit: boolean) {
  const waiting = { waiting: { reason: 'PodInitializing' } };
  const state = facts.states.get(name) ?? waiting;
  const running = 'running' in state;
  return {
    name,
    image,
    imageID: '',
    restartCount: 0,
    started: running,
    ready: isInit ? exitOf(state) === 0 : running,
    state,
    ...('waiting' in state ? {} : { containerID: `process://${facts.pod.metadata.uid}/${name}` }),
  };
}

export function podStatus(facts: PodFacts): Record<string, unknown> {
  const { pod, states, startTime, failure, since } = facts;
  const { initContainers = [], containers } = pod.spec;
  const initialized = initContainers.every(({ name }) => exitOf(states.get(name)) === 0);
  const phase = phaseOf(facts);
  const condition = (type: string, holds: boolean, reason: string) => ({
    type,
    status: holds ? 'True' : 'False',
    lastProbeTime: null,
    lastTransitionTime: since(type, holds),
    ...(holds ? {} : { reason }),
  });
  const ready = phase === 'Running';
  const notReady = phase === 'Succeeded' ? 'PodCompleted' : 'ContainersNotReady';
  return {
    phase,
    hostIP: NODE_ADDRESS,
    hostIPs: [{ ip: NODE_ADDRESS }],
    startTime,
    reason: failure?.reason ?? null,
    message: failure?.message ?? null,
    conditions: [
      condition('PodScheduled', true, ''),
      condition('Initialized', initialized, 'ContainersNotInitialized'),
      condition('Ready', ready, notReady),
      condition('ContainersReady', ready, notReady),
    ],
    initContainerStatuses: initContainers.map((container) => containerStatus(container, facts, true)),
    containerStatuses: containers.map((container) => containerStatus(container, facts, false)),
  };
}

/** The status of a pod whose containers a previous process of the node ran. Their exit codes are unknown. */
export function lostStatus(
  { status = {} }: Pod,
  failure: { reason: string; message: string },
  now: string,
): object {
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  const unknown: Terminated = {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: failure.message,
    startedAt: status.startTime ?? now,
    finishedAt: now,
  };
  const ended = (statuses: typeof containerStatuses) =>
    statuses.map((container) => {
      if (container.state?.['running'] === undefined) return container;
      return { ...container, ready: false, started: false, state: { terminated: unknown } };
    });
  return {
    phase: 'Failed',
    ...failure,
    initContainerStatuses: ended(initContainerStatuses),
    containerStatuses: ended(containerStatuses),
  };
}
