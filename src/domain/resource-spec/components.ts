import type { ResourceSpec, ResourceSpecField } from './resource-spec.ts';

/** The parts of a deployment that run the image of the app. Each component is a Kubernetes Deployment. */
export const COMPONENTS = ['api', 'queue', 'orchestrator', 'executor'] as const;
export type Component = (typeof COMPONENTS)[number];

interface ComponentFields {
  /** null: the component has no scale fields and runs one pod. */
  scale: { min: ResourceSpecField; max: ResourceSpecField } | null;
  cpu: ResourceSpecField;
  cpuLimit: ResourceSpecField;
  memory: ResourceSpecField;
  memoryLimit: ResourceSpecField;
}

/** The fields with the sizes of each component. */
export const COMPONENT_FIELDS = {
  api: {
    scale: { min: 'min_scale', max: 'max_scale' },
    cpu: 'cpu',
    cpuLimit: 'cpu_limit',
    memory: 'memory_mb',
    memoryLimit: 'memory_limit_mb',
  },
  queue: {
    scale: { min: 'queue_min_scale', max: 'queue_max_scale' },
    cpu: 'queue_cpu',
    cpuLimit: 'queue_cpu_limit',
    memory: 'queue_memory_mb',
    memoryLimit: 'queue_memory_limit_mb',
  },
  orchestrator: {
    scale: { min: 'orchestrator_min_scale', max: 'orchestrator_max_scale' },
    cpu: 'orchestrator_cpu',
    cpuLimit: 'orchestrator_cpu_limit',
    memory: 'orchestrator_memory_mb',
    memoryLimit: 'orchestrator_memory_limit_mb',
  },
  executor: {
    scale: null,
    cpu: 'executor_cpu',
    cpuLimit: 'executor_cpu_limit',
    memory: 'executor_memory_mb',
    memoryLimit: 'executor_memory_limit_mb',
  },
} as const satisfies Record<Component, ComponentFields>;

function fieldsOf(component: Component): ResourceSpecField[] {
  const { scale: scaleFields, ...sizes } = COMPONENT_FIELDS[component];
  return [...(scaleFields ? Object.values(scaleFields) : []), ...Object.values(sizes)];
}

/** Created once, because a list needs these fields for each of its deployments. */
const FIELDS: Readonly<Record<Component, readonly ResourceSpecField[]>> = {
  api: fieldsOf('api'),
  queue: fieldsOf('queue'),
  orchestrator: fieldsOf('orchestrator'),
  executor: fieldsOf('executor'),
};

/** All fields of one component. */
export function componentFields(component: Component): readonly ResourceSpecField[] {
  return FIELDS[component];
}

/**
 * Whether a component is part of the deployment. api is always part of the deployment. Another component is part of the
 * deployment if any of its fields is set.
 */
export function componentExists(spec: ResourceSpec, component: Component): boolean {
  return component === 'api' || componentFields(component).some((field) => spec[field] != null);
}

/**
 * Minimum and maximum number of pods of a component. A component with a positive maximum runs at least one pod, because
 * an autoscaler cannot scale to zero. A maximum of 0 switches the component off.
 */
export function podRange(min: number, max: number): { min: number; max: number } {
  return { min: Math.min(Math.max(1, min), max), max };
}
