import type { ResourceList } from '../kubernetes/resources.ts';

/**
 * Default resources of sidecars and init containers in namespaces of tenants (cloud). The listener creates a LimitRange
 * with these defaults. Without a limit, one container could use a whole node without counting against a quota. Without
 * a request, Kubernetes rejects a pod in a namespace with a quota of requests. emptyDir volumes count against the limit of
 * ephemeral storage, so it is not below their cap (caps.ephemeral_storage_gi). The operator uses the same ephemeral
 * storage for the containers that it generates, in every mode, unless its settings say otherwise.
 */
export const CONTAINER_DEFAULTS = {
  requests: { cpu: '50m', memory: '64Mi', 'ephemeral-storage': '64Mi' },
  limits: { cpu: '1', memory: '1Gi', 'ephemeral-storage': '50Gi' },
} as const satisfies Record<'requests' | 'limits', ResourceList>;
export type DefaultedResource = keyof (typeof CONTAINER_DEFAULTS)['limits'];
