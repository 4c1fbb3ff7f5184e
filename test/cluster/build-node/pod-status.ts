import type { Container, ContainerState, Pod, Terminated } from './pod-types.ts';

/** The status of a pod, from what its containers are at: as a kubelet writes it. Pure. */

export interface PodFacts {
  readonly pod: Pod;
  /** By container; one that is not in it waits. */
  readonly states: ReadonlyMap<string, ContainerState>;
  readonly hostIP: string;
  readonly startTime: string;
  /** Why the pod as a whole has failed, beyond what its containers tell. */
  readonly failure?: { readonly reason: string; readonly message: string } | undefined;
  /** When a condition came to hold, or ceased to. */
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
  const begun = containers.some(({ name }) => states.has(name) && !('waiting' in (states.get(name) ?? {})));
  return begun ? 'Running' : 'Pending';
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
  const { pod, states, hostIP, startTime, failure, since } = facts;
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
    hostIP,
    hostIPs: [{ ip: hostIP }],
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

/** The status of a pod that another process ran, whose end nobody saw. */
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
