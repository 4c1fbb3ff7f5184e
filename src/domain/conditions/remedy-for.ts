import { APP_CONTAINER_NAME } from '../deployment/reserved.ts';
import { COMPONENT_FIELDS, COMPONENTS, type Component } from '../resource-spec/components.ts';
import type { FailureSource } from './failure-source.ts';
import { AGAIN, type Remedy, remedyOf } from './remedies.ts';
import { CAUSES_OF_REASONS } from './remedy-causes.ts';

/** The parts of a problem that its remedy depends on. */
export interface Problem {
  readonly reason: string;
  /** Message of the cluster or the operator. */
  readonly message: string;
  /** The condition that reports the problem. null: no condition. */
  readonly condition?: string | null;
  /** The affected component. */
  readonly component?: string | undefined;
  /** The field that causes the problem. Absent: not known. */
  readonly field?: string | undefined;
  /** The affected container. Absent: the message may name the container. */
  readonly container?: string | undefined;
  readonly containerKind?: FailureSource['container_kind'] | undefined;
}

const SPEC = 'source_config.resource_spec';

/** Fields with the sizes of the affected container. */
interface SizeFields {
  readonly cpu: string;
  readonly cpuLimit: string;
  readonly memory: string;
  readonly memoryLimit: string;
  readonly scale: string;
}

const DATABASE: SizeFields = {
  cpu: 'db_cpu',
  cpuLimit: 'db_cpu_limit',
  memory: 'db_memory_mb',
  memoryLimit: 'db_memory_limit_mb',
  scale: 'max_scale',
};
const CACHE: SizeFields = {
  cpu: 'cache_cpu',
  cpuLimit: 'cache_cpu_limit',
  memory: 'cache_memory_mb',
  memoryLimit: 'cache_memory_mb',
  scale: 'max_scale',
};

const SERVICES: ReadonlySet<SizeFields> = new Set([DATABASE, CACHE]);

function sizesOf(component: Component): SizeFields {
  const { scale, ...sizes } = COMPONENT_FIELDS[component];
  return { ...sizes, scale: scale === null ? 'max_scale' : `${scale.min}, ${scale.max}` };
}

const NAMED_COMPONENT = /(?:^|: )(api|queue|orchestrator|executor|the database|the cache)\b/;

/** The affected component. undefined: the problem does not name a component of the app. */
function componentOf({ component, message }: Problem): Component | undefined {
  const named = component ?? NAMED_COMPONENT.exec(message)?.[1];
  return COMPONENTS.find((each) => each === named);
}

function sizeFields({ condition, component, message }: Problem): SizeFields {
  const named = component ?? NAMED_COMPONENT.exec(message)?.[1];
  if (condition === 'DatabaseReady' || named === 'database' || named === 'the database') return DATABASE;
  if (condition === 'CacheReady' || named === 'cache' || named === 'the cache') return CACHE;
  return sizesOf(COMPONENTS.find((each) => each === named) ?? 'api');
}

const NAMED_CONTAINER = /\bcontainer ([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?: \((app|init|sidecar)\))?/g;

/** The container of the problem, or the last container that the text names. */
function containerOf(problem: Problem, text: string): Pick<Problem, 'container' | 'containerKind'> {
  if (problem.container !== undefined) return problem;
  const [, container, kind] = [...text.matchAll(NAMED_CONTAINER)].at(-1) ?? [];
  const containerKind = kind ?? (container === APP_CONTAINER_NAME ? 'app' : 'sidecar');
  return { container, containerKind: containerKind as Problem['containerKind'] };
}

/** Init containers and sidecars have separate sizes. In the API, a native sidecar is an init container. */
const CONTAINER_LISTS = {
  init: ['init_containers', ''],
  sidecar: ['sidecars', '; a native sidecar is in init_containers[…]'],
} as const;

/** The fields with the sizes of a container. @param text text that names the container, if the problem does not */
function containerSizes(problem: Problem, text: string): SizeFields {
  const sizes = sizeFields(problem);
  const { container, containerKind } = containerOf(problem, text);
  const isOfComponent = sizes !== DATABASE && sizes !== CACHE;
  if (container === undefined || !isOfComponent || !containerKind || containerKind === 'app') return sizes;
  const [list, besides] = CONTAINER_LISTS[containerKind];
  const field = (resource: string) =>
    `${list}[…].resources.${resource} (of the container ${container}${besides})`;
  return {
    cpu: field('requests.cpu'),
    cpuLimit: field('limits.cpu'),
    memory: field('requests.memory'),
    memoryLimit: field('limits.memory'),
    scale: sizes.scale,
  };
}

/** The field with the memory limit of the affected container. */
export function memoryLimitField(problem: Problem): string {
  return `${SPEC}.${containerSizes(problem, problem.message).memoryLimit}`;
}

/** End of a message of the operator, see symptoms.ts. */
const NAMED_FIELD = /named by (source_config\.[\w.[\]]{1,500}(?:, source_config\.[\w.[\]]{1,500}){0,8})/;

/**
 * The remedy of a problem. The remedy is specific to the cause if the message shows the cause, otherwise to the reason.
 * null: the reason is not in the closed list (a custom resource written by hand).
 */
export function remedyFor(problem: Problem): Remedy | null {
  const remedy = remedyOf(problem.reason);
  if (remedy === null || !('text' in remedy)) return remedy;
  const found = causeText(problem);
  if (found === null) return remedy;
  return { kind: remedy.kind, text: remedy.text.includes(AGAIN) ? `${found} ${AGAIN}` : found };
}

/**
 * The remedy of the cause that the message shows. null: the message shows no cause, or the reason has only one cause.
 */
export function causeText(problem: Problem): string | null {
  const { reason } = problem;
  if (!Object.hasOwn(CAUSES_OF_REASONS, reason)) return null;
  const { causes = [], otherwise, end } = CAUSES_OF_REASONS[reason as keyof typeof CAUSES_OF_REASONS] ?? {};
  const message = reason === 'ImagePullFailed' ? withoutNames(problem.message) : problem.message;
  const found = causes.filter(({ said }) => said.test(message));
  const all = found.length > 0 || otherwise === undefined ? found : [otherwise];
  // For a registry or a container, the first match is the cause. A scheduler or a quota lists several causes.
  const listed = LISTING.has(reason) ? all : all.slice(0, 1);
  const applying = listed.filter(({ said }) => said.test(message));
  if (applying.length === 0) return null;
  const isService = SERVICES.has(sizeFields(problem));
  const texts = applying.map((each) => (isService ? each.ofService : undefined) ?? each.text);
  // The part of a message about several pods that is about this cause.
  const at = Math.min(...applying.map(({ said }) => message.search(said)));
  const said = [...texts, end ?? ''].filter((each) => each !== '').join(' ');
  return filledIn(said, problem, message.slice(0, at));
}

/** Removes names, because the name of an image may contain any of the words that patterns match. */
const withoutNames = (text: string) => text.replace(/"[^"]*"|\S*[/:@]\S*\d\S*/g, ' ');

const LISTING: ReadonlySet<string> = new Set(['Unschedulable', 'QuotaExceeded']);

/** The pod setting of the affected component. */
const settingOf = (field: string, problem: Problem): string => {
  const component = componentOf(problem);
  return `source_config.${field}${component === undefined ? '' : `.${component}`}`;
};

function filledIn(text: string, problem: Problem, before: string): string {
  const field = problem.field ?? NAMED_FIELD.exec(problem.message)?.[1];
  const sizes = Object.entries(containerSizes(problem, before)).map(
    ([name, fields]) => [`{${name}}`, `${SPEC}.${fields}`] as const,
  );
  const volume = field?.includes('.volumes') === true ? field : `${SPEC}.volumes`;
  const places = [
    ...sizes,
    ...['placement', 'gpu'].map((name) => [`{${name}}`, settingOf(name, problem)] as const),
    ['{volume}', volume] as const,
    ['{field}', field ?? SPEC] as const,
  ];
  return places.reduce((filled, [place, value]) => filled.replaceAll(place, value), text);
}
