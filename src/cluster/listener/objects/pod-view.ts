import {
  type CONTAINER_STATES,
  clusterTime,
  type ObjectContainer,
  type ObjectPod,
  type ObjectState,
} from '../../../domain/core/object-map.ts';
import { NANO_PER_UNIT, parseQuantity } from '../../../domain/kubernetes/quantity.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { cut, type Judgement } from './object-text.ts';

/** Pods as clients see them. Pure. */

interface Terminated {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
}

interface State {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: Terminated;
}

interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: State;
  readonly lastState?: State;
}

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

/** The fields of a pod that clients see. */
export interface SeenPod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly initContainers?: readonly Container[];
    readonly containers?: readonly Container[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** Amounts of a container. */
export interface Amounts {
  cpu?: number;
  memory_mb?: number;
}

const MAX_CONTAINERS = 64;
const MEBIBYTE = 2n ** 20n;

const amountOf = (quantity: string | undefined, unit: bigint): number | undefined => {
  const nano = quantity === undefined ? null : parseQuantity(quantity);
  // Three decimals are enough for people, and stay exact as a number.
  return nano === null ? undefined : Number((nano * 1000n) / (NANO_PER_UNIT * unit)) / 1000;
};

/** The amounts of `requests`, `limits` or `usage`. A quantity that cannot be read is omitted. */
export function amountsOf({ cpu, memory }: Readonly<Record<string, string>> = {}): Amounts {
  const cores = amountOf(cpu, 1n);
  const megabytes = amountOf(memory, MEBIBYTE);
  return {
    ...(cores === undefined ? {} : { cpu: cores }),
    ...(megabytes === undefined ? {} : { memory_mb: megabytes }),
  };
}

const nameOfState = ({ waiting, running, terminated }: State): (typeof CONTAINER_STATES)[number] => {
  if (waiting !== undefined) return 'waiting';
  if (running !== undefined) return 'running';
  return terminated === undefined ? 'unknown' : 'terminated';
};

const textField = (name: 'reason' | 'message', text: string | undefined, most?: number) =>
  text ? { [name]: cut(text, most) } : {};

function containerOf(
  { name, image = '', resources }: Container,
  status: ContainerStatus | undefined,
  init: boolean,
  usage: Amounts | undefined,
): ObjectContainer {
  const { state = {}, lastState = {}, restartCount = 0, ready = false } = status ?? {};
  const ended = state.terminated ?? lastState.terminated;
  const startedAt = clusterTime(state.running?.startedAt);
  // A container that waits for its restart says only that it waits. The end of its last run says why.
  const { reason } = state.waiting ?? state.terminated ?? {};
  const message = state.terminated?.message ?? lastState.terminated?.message ?? state.waiting?.message;
  return {
    name,
    init,
    image: cut(image),
    state: nameOfState(state),
    ready,
    ...textField('reason', reason, 128),
    ...textField('message', message),
    ...(ended?.exitCode === undefined ? {} : { exit_code: ended.exitCode }),
    restarts: restartCount,
    ...(startedAt === null ? {} : { started_at: startedAt }),
    requests: amountsOf(resources?.requests),
    limits: amountsOf(resources?.limits),
    ...(usage === undefined ? {} : { usage }),
  };
}

/** @param usage of the containers by name; undefined: not known */
export function podView({ spec, status }: SeenPod, usage?: ReadonlyMap<string, Amounts>): ObjectPod {
  const statuses = new Map(
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((each) => [
      each.name,
      each,
    ]),
  );
  const view = (init: boolean) => (container: Container) =>
    containerOf(container, statuses.get(container.name), init, usage?.get(container.name));
  const { nodeName } = spec ?? {};
  return {
    phase: cut(status?.phase ?? 'Unknown', 32),
    ...(nodeName === undefined ? {} : { node: nodeName }),
    containers: [
      ...(spec?.initContainers ?? []).map(view(true)),
      ...(spec?.containers ?? []).map(view(false)),
    ].slice(0, MAX_CONTAINERS),
  };
}

/** Reasons of an ordinary start. */
const ORDINARY: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

/** Why a container prevents its pod from being ready; null: it does not. */
function troubleOf({ name, init, state, reason, message, exit_code: code }: ObjectContainer): string | null {
  const detail = message === undefined ? '' : `: ${message}`;
  if (state === 'waiting' && reason !== undefined && !ORDINARY.has(reason))
    return `Container ${name}: ${reason}${detail}`;
  const hasFailed = state === 'terminated' && code !== 0;
  const hasEnded = state === 'terminated' && !init;
  if (!hasFailed && !hasEnded) return null;
  return `Container ${name} has ended with exit code ${code ?? 'unknown'}${detail}`;
}

const ENDED: Readonly<Record<string, ObjectState>> = { Succeeded: 'inactive', Failed: 'failed' };

/** The state of a pod. */
export function judgePod(pod: SeenPod): Judgement {
  const { phase = '', reason, message, conditions = [] } = pod.status ?? {};
  const ended = ENDED[phase];
  if (ended !== undefined)
    return { state: ended, message: [reason, message].filter(Boolean).join(': ') || null };
  const is = (type: string) => conditions.find((condition) => condition.type === type);
  if (is('Ready')?.status === 'True') return { state: 'ready', message: null };
  const trouble = podView(pod)
    .containers.map(troubleOf)
    .find((found) => found !== null);
  if (trouble !== undefined) return { state: 'failed', message: trouble };
  const scheduled = is('PodScheduled');
  if (scheduled?.status === 'False')
    return { state: 'failed', message: scheduled.message ?? 'The pod cannot be scheduled.' };
  return { state: 'progressing', message: is('Ready')?.message ?? null };
}
