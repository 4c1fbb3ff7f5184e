import type { V1PodSpec } from '@kubernetes/client-node';
import type { PlacementSpec } from '../../contract/resource/component-settings.ts';

/** The fields of a pod that say on which nodes it runs. Empty values are omitted, so they equal absent ones. */
export function podPlacement({
  nodeSelector = {},
  tolerations = [],
  affinity = {},
}: PlacementSpec = {}): Pick<V1PodSpec, 'nodeSelector' | 'tolerations' | 'affinity'> {
  return {
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(Object.keys(affinity).length === 0 ? {} : { affinity }),
  };
}
