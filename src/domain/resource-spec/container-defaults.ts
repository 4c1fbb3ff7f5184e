import type { ResourceList } from '../kubernetes/resources.ts';

/**
 * What a sidecar or init container has that says nothing of a resource, in a tenant's own namespace (cloud): the
 * listener puts it there as a LimitRange. Without a limit one container could take a whole node, and count for nothing.
 * Without a request, Kubernetes refuses a pod under a quota of requests. The app has no field for ephemeral storage, so
 * it has this limit too, and what is in an emptyDir counts: no less than the cap of one (caps.ephemeral_storage_gi).
 */
export const CONTAINER_DEFAULTS = {
  requests: { cpu: '50m', memory: '64Mi', 'ephemeral-storage': '64Mi' },
  limits: { cpu: '1', memory: '1Gi', 'ephemeral-storage': '50Gi' },
} as const satisfies Record<'requests' | 'limits', ResourceList>;
export type DefaultedResource = keyof (typeof CONTAINER_DEFAULTS)['limits'];
