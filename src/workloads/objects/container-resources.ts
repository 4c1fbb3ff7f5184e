import type { V1Container } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { GpuSpec } from '../../contract/resource/component-settings.ts';
import {
  NANO_PER_UNIT,
  normalQuantity,
  parseQuantity,
  wholeMillicores,
} from '../../domain/kubernetes/quantity.ts';
import type { Volume } from '../../domain/kubernetes/volume.ts';

interface Amounts {
  readonly cpu?: string | undefined;
  readonly memory?: string | undefined;
  readonly 'ephemeral-storage'?: string | undefined;
}
interface Resources {
  readonly requests?: Amounts | undefined;
  readonly limits?: Amounts | undefined;
}

function stored({ cpu, ...rest }: Amounts): Record<string, string> {
  const amounts = cpu === undefined ? rest : { cpu: wholeMillicores(cpu), ...rest };
  return amounts as Record<string, string>;
}

/**
 * The field `resources` of a container, in the form that the API server stores: CPU is rounded to millicores. A value
 * that the API server changes would be applied again at every reconcile. The result is empty without resources.
 */
export function containerResources(resources: Resources | undefined): Pick<V1Container, 'resources'> {
  if (resources === undefined) return {};
  const { requests, limits } = resources;
  return {
    resources: {
      ...(requests === undefined ? {} : { requests: stored(requests) }),
      ...(limits === undefined ? {} : { limits: stored(limits) }),
    },
  };
}

/** Bytes of the emptyDir volumes on disk that state their size. */
function declaredBytes(volumes: readonly Volume[]): bigint {
  return volumes.reduce((sum, { emptyDir }) => {
    const { medium = '', sizeLimit } = emptyDir ?? {};
    const nano = medium === '' && sizeLimit !== undefined ? parseQuantity(sizeLimit) : null;
    return sum + (nano ?? 0n) / NANO_PER_UNIT;
  }, 0n);
}

/**
 * The resources with the ephemeral storage of the configuration. The kubelet counts emptyDir volumes on disk as storage
 * of the pod, so their declared sizes are added to the limit. Otherwise a pod would be evicted although it keeps the
 * limits of its volumes.
 * @param volumes volumes of the pod
 */
export function withEphemeralStorage(
  resources: Resources | undefined,
  { ephemeralStorage }: Pick<RenderConfig, 'ephemeralStorage'>,
  volumes: readonly Volume[] = [],
): Resources | undefined {
  const { request = null, limit = null } = ephemeralStorage ?? {};
  const declared = declaredBytes(volumes);
  const own = limit === null ? 0n : (parseQuantity(limit) ?? 0n) / NANO_PER_UNIT;
  const total = declared === 0n ? limit : String(normalQuantity(String(own + declared)));
  return withAmount(withAmount(resources, 'requests', request), 'limits', limit === null ? null : total);
}

/** The resources with the GPUs of the app container. A request of a device equals its limit. */
export function withGpus(resources: Resources | undefined, gpu: GpuSpec | undefined): Resources | undefined {
  if (gpu === undefined) return resources;
  const devices = { [gpu.resource]: String(gpu.count) };
  return {
    requests: { ...resources?.requests, ...devices },
    limits: { ...resources?.limits, ...devices },
  };
}

function withAmount(
  resources: Resources | undefined,
  part: 'requests' | 'limits',
  amount: string | null,
): Resources | undefined {
  if (amount === null) return resources;
  return { ...resources, [part]: { ...resources?.[part], 'ephemeral-storage': amount } };
}
