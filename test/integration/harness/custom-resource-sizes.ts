/** Where a custom resource has the sizes of a resource_spec. */

interface Size {
  /** Its field of the custom resource. */
  readonly field: string;
  readonly spec: (size: number) => object;
}

/** Of one component, as the API writes them. */
const api = (component: object) => ({ components: { api: component } });

/**
 * Numbers and sizes of pods. What no policy can allow, the custom resource refuses. What that of cloud alone refuses, it
 * takes: what the pods request is bounded by the quota of the tenant's namespace (test/unit/cluster/listener/apply/namespace-quota).
 */
export const SIZES: Readonly<Record<string, Size>> = {
  max_scale: { field: 'scale.max', spec: (max) => api({ scale: { min: 1, max } }) },
  queue_max_scale: {
    field: 'scale.max',
    spec: (max) => ({ components: { queue: { scale: { min: 1, max } } } }),
  },
  cpu: { field: 'requests.cpu', spec: (cores) => api({ resources: { requests: { cpu: `${cores}` } } }) },
  cpu_limit: { field: 'limits.cpu', spec: (cores) => api({ resources: { limits: { cpu: `${cores}` } } }) },
  memory_mb: {
    field: 'requests.memory',
    spec: (mb) => api({ resources: { requests: { memory: `${mb}Mi` } } }),
  },
  db_storage_gi: { field: 'database.storage', spec: (gi) => ({ database: { storage: `${gi}Gi` } }) },
};
export const isSize = (field: string) => Object.hasOwn(SIZES, field);
