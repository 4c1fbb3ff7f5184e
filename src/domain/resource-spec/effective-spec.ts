import type { DeploymentType } from '../deployment/source.ts';
import type { Caps } from '../policy/policy.ts';
import { COMPONENT_FIELDS, COMPONENTS, type Component, componentExists, podRange } from './components.ts';
import { connectionBudget } from './connection-budget.ts';
import type { EffectiveResourceSpec } from './effective-spec-schema.ts';
import { milliCpu, RESOURCE_LIMITS, type ResourceSpec } from './resource-spec.ts';

/** The effective resource_spec of a deployment, with all defaults. Defaults depend on sent values. */

interface Scale {
  min: number;
  max: number;
}
interface Size {
  request: number;
  limit: number;
}
interface ComponentDefaults {
  scale: Scale;
  cpu: Size;
  memory: Size;
}

function twice(request: number): Size {
  return { request, limit: 2 * request };
}

interface TypeDefaults extends ComponentDefaults {
  storageGi: number;
}

const DEV: TypeDefaults = { scale: { min: 1, max: 1 }, cpu: twice(1), memory: twice(1024), storageGi: 10 };

/** Defaults by deployment_type. */
const TYPE_DEFAULTS: Readonly<Record<DeploymentType, TypeDefaults>> = {
  dev_free: { ...DEV, cpu: twice(0.5), memory: twice(512), storageGi: 5 },
  dev: DEV,
  prod: { scale: { min: 2, max: 10 }, cpu: twice(2), memory: twice(2048), storageGi: 20 },
};

const WORKER_DEFAULTS: ComponentDefaults = { scale: { min: 1, max: 1 }, cpu: twice(1), memory: twice(1024) };
const CACHE_DEFAULTS = { cpu: twice(0.5), memoryMb: 512 };
const DATABASE_DEFAULTS = { cpu: twice(1), memory: twice(1024) };

type Sent<T> = T | null | undefined;

/**
 * Upper limits of values that are derived from sent values, such as limits of twice the request, and connections for
 * all pods.
 */
export interface Ceilings extends Pick<Caps, 'cpu' | 'memory_mb' | 'db_connections'> {
  /**
   * Limit for fields in whole cores. Absent: the value of `cpu`, even a fraction, as for specs that were stored without
   * this field.
   */
  whole_cpu?: number | undefined;
  /** Minimum of derived connections. Absent: as many connections as the scales need. */
  min_db_connections?: number | undefined;
}

/** Limits without a policy. */
const NO_CEILINGS: Ceilings = {
  cpu: RESOURCE_LIMITS.cpu,
  memory_mb: RESOURCE_LIMITS.memoryMb,
  db_connections: RESOURCE_LIMITS.dbConnections,
};

/** Whether the limits have no effect on any valid spec. */
export const bendNothing = ({ cpu, memory_mb, db_connections, min_db_connections }: Ceilings): boolean =>
  min_db_connections === undefined &&
  cpu >= NO_CEILINGS.cpu &&
  memory_mb >= NO_CEILINGS.memory_mb &&
  db_connections >= NO_CEILINGS.db_connections;

/** Components with whole cores in the API. The database also has whole cores. */
const WHOLE_CORES: ReadonlySet<Component> = new Set(['orchestrator', 'executor']);

const wholeCpu = ({ cpu, whole_cpu: whole }: Ceilings): number => whole ?? cpu;

const bendScale = (min: Sent<number>, max: Sent<number>, defaults: Scale): Scale =>
  podRange(min ?? defaults.min, max ?? Math.max(defaults.max, min ?? 0));

function bendSize(request: Sent<number>, limit: Sent<number>, defaults: Size, ceiling: number): Size {
  if (request == null && limit == null) return defaults;
  const requested = request ?? Math.min(defaults.request, limit ?? defaults.request);
  return { request: requested, limit: limit ?? Math.max(requested, Math.min(2 * requested, ceiling)) };
}

/** Cores, computed in whole millicores to avoid rounding errors. */
function bendCpu(request: Sent<number>, limit: Sent<number>, defaults: Size, ceiling: number): Size {
  const milli = (value: Sent<number>) => (value == null ? null : milliCpu(value));
  const size = bendSize(
    milli(request),
    milli(limit),
    { request: milliCpu(defaults.request), limit: milliCpu(defaults.limit) },
    milliCpu(ceiling),
  );
  return { request: size.request / 1000, limit: size.limit / 1000 };
}

function bendMemory(request: Sent<number>, limit: Sent<number>, defaults: Size, ceilings: Ceilings): Size {
  return bendSize(request, limit, defaults, ceilings.memory_mb);
}

function effectiveComponent(
  spec: ResourceSpec,
  component: Component,
  defaults: ComponentDefaults,
  ceilings: Ceilings,
): ComponentDefaults {
  const fields = COMPONENT_FIELDS[component];
  const cpuCeiling = WHOLE_CORES.has(component) ? wholeCpu(ceilings) : ceilings.cpu;
  const scale = fields.scale
    ? bendScale(spec[fields.scale.min], spec[fields.scale.max], defaults.scale)
    : { min: 1, max: 1 };
  return {
    scale,
    cpu: bendCpu(spec[fields.cpu], spec[fields.cpuLimit], defaults.cpu, cpuCeiling),
    memory: bendMemory(spec[fields.memory], spec[fields.memoryLimit], defaults.memory, ceilings),
  };
}

type Components = Partial<Record<Component, ComponentDefaults>> & { api: ComponentDefaults };

function effectiveComponents(
  spec: ResourceSpec,
  defaults: ComponentDefaults,
  ceilings: Ceilings,
): Components {
  const api = effectiveComponent(spec, 'api', defaults, ceilings);
  const of = (component: Component, fallback: ComponentDefaults) =>
    componentExists(spec, component) ? effectiveComponent(spec, component, fallback, ceilings) : undefined;
  return {
    api,
    queue: of('queue', api),
    orchestrator: of('orchestrator', WORKER_DEFAULTS),
    executor: of('executor', WORKER_DEFAULTS),
  };
}

/** Whether the whole deployment is switched off. */
export function isOff(spec: Pick<ResourceSpec, 'max_scale'>): boolean {
  return spec.max_scale === 0;
}

/** Maximum number of pods of each existing component. All 0 while the deployment is switched off. */
function maxScales(components: Components, off: boolean): Map<Component, number> {
  const scales = new Map<Component, number>();
  for (const name of COMPONENTS) {
    const component = components[name];
    if (component) scales.set(name, off ? 0 : component.scale.max);
  }
  return scales;
}

/**
 * Maximum number of pods of each component of a spec, with defaults. The connections of the database must be sufficient
 * for these pods.
 */
export function largestScales(spec: ResourceSpec, type: DeploymentType | null): Map<Component, number> {
  return maxScales(effectiveComponents(spec, TYPE_DEFAULTS[type ?? 'dev'], NO_CEILINGS), isOff(spec));
}

type Flat<N> = Record<'min' | 'max' | 'cpu' | 'cpuLimit' | 'memory' | 'memoryLimit', N>;

function flatten({ scale, cpu, memory }: ComponentDefaults): Flat<number> {
  return {
    ...scale,
    cpu: cpu.request,
    cpuLimit: cpu.limit,
    memory: memory.request,
    memoryLimit: memory.limit,
  };
}

const ABSENT: Flat<null> = {
  min: null,
  max: null,
  cpu: null,
  cpuLimit: null,
  memory: null,
  memoryLimit: null,
};

function flattenOptional(component: ComponentDefaults | undefined): Flat<number | null> {
  return component ? flatten(component) : ABSENT;
}

function componentSizes(components: Components) {
  const api = flatten(components.api);
  const queue = flattenOptional(components.queue);
  const orchestrator = flattenOptional(components.orchestrator);
  const executor = flattenOptional(components.executor);
  return {
    min_scale: api.min,
    max_scale: api.max,
    cpu: api.cpu,
    cpu_limit: api.cpuLimit,
    memory_mb: api.memory,
    memory_limit_mb: api.memoryLimit,
    queue_min_scale: queue.min,
    queue_max_scale: queue.max,
    queue_cpu: queue.cpu,
    queue_cpu_limit: queue.cpuLimit,
    queue_memory_mb: queue.memory,
    queue_memory_limit_mb: queue.memoryLimit,
    orchestrator_cpu: orchestrator.cpu,
    orchestrator_cpu_limit: orchestrator.cpuLimit,
    orchestrator_memory_mb: orchestrator.memory,
    orchestrator_memory_limit_mb: orchestrator.memoryLimit,
    orchestrator_min_scale: orchestrator.min,
    orchestrator_max_scale: orchestrator.max,
    executor_cpu: executor.cpu,
    executor_cpu_limit: executor.cpuLimit,
    executor_memory_mb: executor.memory,
    executor_memory_limit_mb: executor.memoryLimit,
  };
}

function dataSizes(
  spec: ResourceSpec,
  storageGi: number,
  maxScalesOfAll: readonly number[],
  ceilings: Ceilings,
) {
  const cacheCpu = bendCpu(spec.cache_cpu, spec.cache_cpu_limit, CACHE_DEFAULTS.cpu, ceilings.cpu);
  const dbCpu = bendCpu(spec.db_cpu, spec.db_cpu_limit, DATABASE_DEFAULTS.cpu, wholeCpu(ceilings));
  const dbMemory = bendMemory(spec.db_memory_mb, spec.db_memory_limit_mb, DATABASE_DEFAULTS.memory, ceilings);
  const budget = connectionBudget(
    maxScalesOfAll,
    spec.db_max_connections ?? null,
    ceilings.db_connections,
    ceilings.min_db_connections,
  );
  return {
    cache_cpu: cacheCpu.request,
    cache_cpu_limit: cacheCpu.limit,
    cache_memory_mb: spec.cache_memory_mb ?? CACHE_DEFAULTS.memoryMb,
    db_cpu: dbCpu.request,
    db_cpu_limit: dbCpu.limit,
    db_memory_mb: dbMemory.request,
    db_memory_limit_mb: dbMemory.limit,
    db_storage_gi: spec.db_storage_gi ?? storageGi,
    db_max_connections: budget.maxConnections,
    db_pool_size: budget.poolSize,
  };
}

function placement(spec: ResourceSpec) {
  return {
    labels: spec.labels ?? {},
    annotations: spec.annotations ?? {},
    service_account_name: spec.service_account_name ?? null,
    image_pull_secrets: spec.image_pull_secrets ?? [],
    volumes: spec.volumes ?? [],
    volume_mounts: spec.volume_mounts ?? [],
    init_containers: spec.init_containers ?? [],
    sidecars: spec.sidecars ?? [],
  };
}

/**
 * Fills in every default.
 * @param spec resource_spec as stored, without contradictions (spec-rules.ts)
 * @param type deployment_type; null: the sizes of `dev`
 * @param ceilings limits of the policy at the time of the change (`SourceConfig.default_ceilings`), not those of the
 *   current policy, so that a policy change does not affect stored specs. These limits apply only to values that are
 *   derived from sent values
 */
export function effectiveSpec(
  spec: ResourceSpec,
  type: DeploymentType | null,
  ceilings: Ceilings = NO_CEILINGS,
): EffectiveResourceSpec {
  const defaults = TYPE_DEFAULTS[type ?? 'dev'];
  const components = effectiveComponents(spec, defaults, ceilings);
  const scales = [...maxScales(components, isOff(spec)).values()];
  return {
    ...componentSizes(components),
    ...dataSizes(spec, defaults.storageGi, scales, ceilings),
    ...placement(spec),
  };
}

/** Whether a component runs in an effective spec. */
export function hasComponent(effective: EffectiveResourceSpec, component: Component): boolean {
  return effective[COMPONENT_FIELDS[component].cpu] !== null;
}

/**
 * Scale of a component. Both bounds are 0 if the component does not exist or is off, or if the deployment is off. Both
 * bounds are 1 for the executor.
 */
export function scaleOfComponent(effective: EffectiveResourceSpec, component: Component): Scale {
  if (isOff(effective) || !hasComponent(effective, component)) return { min: 0, max: 0 };
  const { scale } = COMPONENT_FIELDS[component];
  if (!scale) return { min: 1, max: 1 };
  return podRange(effective[scale.min] ?? 1, effective[scale.max] ?? 0);
}
