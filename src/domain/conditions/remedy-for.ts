import { APP_CONTAINER_NAME } from '../deployment/reserved.ts';
import { COMPONENT_FIELDS, COMPONENTS, type Component } from '../resource-spec/resource-spec.ts';
import type { Culprit } from './failure-source.ts';
import { AGAIN, type Remedy, remedyOf } from './remedies.ts';
import { CAUSES_OF_REASONS } from './remedy-causes.ts';

/** What went wrong, as far as a remedy depends on it. */
export interface Problem {
  readonly reason: string;
  /** As the cluster, or the operator, says it. */
  readonly message: string;
  /** The condition that says so; null: none. */
  readonly condition?: string | null;
  /** The component that it is about, as a culprit names it. */
  readonly component?: string | undefined;
  /** The field that leads there; absent: not known. */
  readonly field?: string | undefined;
  /** The container that it is about, as a culprit names it; absent: the message may name it. */
  readonly container?: string | undefined;
  readonly containerKind?: Culprit['container_kind'] | undefined;
}

const SPEC = 'source_config.resource_spec';

/** Sizes of the container that the message is about. */
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

function sizesOf(component: Component): SizeFields {
  const { scale, ...sizes } = COMPONENT_FIELDS[component];
  return { ...sizes, scale: scale === null ? 'max_scale' : `${scale.min}, ${scale.max}` };
}

const NAMED_COMPONENT = /(?:^|: )(api|queue|orchestrator|executor|the database|the cache)\b/;

function sizeFields({ condition, component, message }: Problem): SizeFields {
  const named = component ?? NAMED_COMPONENT.exec(message)?.[1];
  if (condition === 'DatabaseReady' || named === 'database' || named === 'the database') return DATABASE;
  if (condition === 'CacheReady' || named === 'cache' || named === 'the cache') return CACHE;
  return sizesOf(COMPONENTS.find((each) => each === named) ?? 'api');
}

const NAMED_CONTAINER = /\bcontainer ([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?: \((app|init|sidecar)\))?/g;

/** The container of the culprit, or the last one that the text names. */
function containerOf(problem: Problem, text: string): Pick<Problem, 'container' | 'containerKind'> {
  if (problem.container !== undefined) return problem;
  const [, container, kind] = [...text.matchAll(NAMED_CONTAINER)].at(-1) ?? [];
  const containerKind = kind ?? (container === APP_CONTAINER_NAME ? 'app' : 'sidecar');
  return { container, containerKind: containerKind as Problem['containerKind'] };
}

/** Init containers and sidecars have sizes of their own; a native sidecar is an init container of the contract. */
const CONTAINER_LISTS = {
  init: ['init_containers', ''],
  sidecar: ['sidecars', '; a native sidecar is in init_containers[…]'],
} as const;

/** The fields of the sizes. @param text what names the container, where the problem does not */
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

/** The field that limits the memory of what the problem is about. */
export function memoryLimitField(problem: Problem): string {
  return `${SPEC}.${containerSizes(problem, problem.message).memoryLimit}`;
}

/** As the operator ends a message: see symptoms.ts. */
const NAMED_FIELD = /named by (source_config\.[\w.[\]]{1,500}(?:, source_config\.[\w.[\]]{1,500}){0,8})/;

/**
 * What to do about a problem, by its cause where the message tells it and otherwise by its reason. Null: the reason is not of
 * the closed list (a custom resource written by hand).
 */
export function remedyFor(problem: Problem): Remedy | null {
  const remedy = remedyOf(problem.reason);
  if (remedy === null || !('text' in remedy)) return remedy;
  const found = causeText(problem);
  if (found === null) return remedy;
  return { kind: remedy.kind, text: remedy.text.includes(AGAIN) ? `${found} ${AGAIN}` : found };
}

/** What to do about the cause, where the message tells one; null: it does not, or the reason has one cause only. */
export function causeText(problem: Problem): string | null {
  const { reason } = problem;
  if (!Object.hasOwn(CAUSES_OF_REASONS, reason)) return null;
  const { causes = [], otherwise, end } = CAUSES_OF_REASONS[reason as keyof typeof CAUSES_OF_REASONS] ?? {};
  const message = reason === 'ImagePullFailed' ? withoutNames(problem.message) : problem.message;
  const found = causes.filter(({ said }) => said.test(message));
  const all = found.length > 0 || otherwise === undefined ? found : [otherwise];
  // Of a registry and of a container the first that applies is the cause; a scheduler and a quota list several.
  const listed = LISTING.has(reason) ? all : all.slice(0, 1);
  const applying = listed.filter(({ said }) => said.test(message));
  if (applying.length === 0) return null;
  const isDatabase = sizeFields(problem) === DATABASE;
  const texts = applying.map((each) => (isDatabase ? each.ofDatabase : undefined) ?? each.text);
  // Of a message about several pods, the part that tells of this cause.
  const at = Math.min(...applying.map(({ said }) => message.search(said)));
  return filledIn([...texts, ...(end === undefined ? [] : [end])].join(' '), problem, message.slice(0, at));
}

/** The name of an image may hold any of the words. */
const withoutNames = (text: string) => text.replace(/"[^"]*"|\S*[/:@]\S*\d\S*/g, ' ');

const LISTING: ReadonlySet<string> = new Set(['Unschedulable', 'QuotaExceeded']);

function filledIn(text: string, problem: Problem, before: string): string {
  const field = problem.field ?? NAMED_FIELD.exec(problem.message)?.[1];
  const sizes = Object.entries(containerSizes(problem, before)).map(
    ([name, fields]) => [`{${name}}`, `${SPEC}.${fields}`] as const,
  );
  const volume = field?.includes('.volumes') === true ? field : `${SPEC}.volumes`;
  const places = [...sizes, ['{volume}', volume] as const, ['{field}', field ?? SPEC] as const];
  return places.reduce((filled, [place, value]) => filled.replaceAll(place, value), text);
}
