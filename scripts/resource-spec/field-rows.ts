import { type FieldRow, type FieldTarget, POD } from './field-row.ts';
import { POD_FIELD_ROWS } from './pod-field-rows.ts';

/**
 * The Kubernetes fields that each field of resource_spec sets: the data of docs/resource-spec.md.
 * test/unit/workloads/field-rows.test.ts checks every row against rendered objects, and the fields against the schema.
 */

const millicores = {
  shown: 'exact millicores: 0.25 → `250m`',
  value: (cores: number) => (Number.isInteger(cores) ? String(cores) : `${Math.round(cores * 1000)}m`),
};
const mebibytes = { shown: '`<n>Mi`', value: (n: number) => `${n}Mi` };

const DERIVED =
  'The value also determines DATABASE_POOL_SIZE of every app pod, and max_connections if the request does not set db_max_connections.';

function appResources(component: string, prefix: string): FieldRow[] {
  const object = `Deployment <app>-${component}`;
  const at = (path: string) => `${POD}.containers[app].resources.${path}`;
  return [
    { field: `${prefix}cpu`, targets: [{ object, path: at('requests.cpu'), ...millicores }] },
    { field: `${prefix}cpu_limit`, targets: [{ object, path: at('limits.cpu'), ...millicores }] },
    { field: `${prefix}memory_mb`, targets: [{ object, path: at('requests.memory'), ...mebibytes }] },
    { field: `${prefix}memory_limit_mb`, targets: [{ object, path: at('limits.memory'), ...mebibytes }] },
  ];
}

function appScale(component: string, prefix: string): FieldRow[] {
  const min = `${prefix}min_scale`;
  const max = `${prefix}max_scale`;
  const autoscaler = `HorizontalPodAutoscaler <app>-${component}`;
  const replicas = {
    object: `Deployment <app>-${component}`,
    path: 'spec.replicas',
    when: `${min} = ${max}`,
  };
  const whole = prefix === '' ? 'the whole deployment' : 'this component';
  return [
    {
      field: min,
      targets: [
        { object: autoscaler, path: 'spec.minReplicas', when: `${min} < ${max}` },
        { ...replicas, given: (sent) => ({ [max]: sent }) },
      ],
      note: 'With 2 or more, there is also a PodDisruptionBudget. With 0 and a positive maximum, one pod still runs.',
    },
    {
      field: max,
      targets: [
        { object: autoscaler, path: 'spec.maxReplicas', when: `${min} < ${max}` },
        { ...replicas, given: (sent) => ({ [min]: sent }) },
      ],
      note: `0 switches ${whole} off: \`spec.replicas\` is 0, and there is no autoscaler and no PodDisruptionBudget. ${DERIVED}`,
    },
  ];
}

const CACHE = { object: 'Deployment <app>-cache', container: `${POD}.containers[cache]` };
const DATABASE = { object: 'StatefulSet <app>-db', container: `${POD}.containers[database]` };

function serviceResource(
  field: string,
  service: typeof CACHE,
  path: string,
  unit: typeof millicores,
  more: readonly FieldTarget[] = [],
): FieldRow {
  return {
    field,
    targets: [{ object: service.object, path: `${service.container}.resources.${path}`, ...unit }, ...more],
  };
}

const DATA_SERVICES: readonly FieldRow[] = [
  serviceResource('cache_cpu', CACHE, 'requests.cpu', millicores),
  serviceResource('cache_cpu_limit', CACHE, 'limits.cpu', millicores),
  serviceResource('cache_memory_mb', CACHE, 'requests.memory', mebibytes, [
    { object: CACHE.object, path: `${CACHE.container}.resources.limits.memory`, ...mebibytes },
    {
      object: CACHE.object,
      path: `${CACHE.container}.args`,
      shown: '`--maxmemory`: three quarters of the value, as `<n>mb`',
      value: (n) => `${Math.floor(n * 0.75)}mb`,
    },
  ]),
  serviceResource('db_cpu', DATABASE, 'requests.cpu', millicores),
  serviceResource('db_cpu_limit', DATABASE, 'limits.cpu', millicores),
  serviceResource('db_memory_mb', DATABASE, 'requests.memory', mebibytes, [
    {
      object: DATABASE.object,
      path: `${DATABASE.container}.args`,
      shown: '`shared_buffers=<a quarter>MB`',
      value: (n) => `shared_buffers=${Math.floor(n / 4)}MB`,
    },
  ]),
  serviceResource('db_memory_limit_mb', DATABASE, 'limits.memory', mebibytes),
  {
    field: 'db_storage_gi',
    targets: [
      {
        object: 'PersistentVolumeClaim <app>-db',
        path: 'spec.resources.requests.storage',
        shown: '`<n>Gi`',
        value: (n) => `${n}Gi`,
      },
    ],
    note: 'The volume is expanded in place and never shrinks. If an expansion is rejected or does not finish, you can lower the size to the capacity of the volume: see [Undo a change that the cluster rejects](lifecycle.md#undo-a-change-that-the-cluster-rejects).',
  },
  {
    field: 'db_max_connections',
    targets: [
      {
        object: DATABASE.object,
        path: `${DATABASE.container}.args`,
        shown: '`max_connections=<n>`',
        value: (n) => `max_connections=${n}`,
      },
    ],
    note: 'The app pods share these connections: DATABASE_POOL_SIZE is the share of one pod.',
  },
];

/** Every field of resource_spec, in the order of the contract. */
export const FIELD_ROWS: readonly FieldRow[] = [
  ...appScale('api', ''),
  ...appResources('api', ''),
  ...appScale('queue', 'queue_'),
  ...appResources('queue', 'queue_'),
  ...appResources('orchestrator', 'orchestrator_'),
  ...appScale('orchestrator', 'orchestrator_'),
  ...appResources('executor', 'executor_'),
  ...DATA_SERVICES,
  ...POD_FIELD_ROWS,
];
