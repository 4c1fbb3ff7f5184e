import type { V1Container } from '@kubernetes/client-node';
import { wholeMillicores } from '../../domain/kubernetes/quantity.ts';

interface Amounts {
  readonly cpu?: string | undefined;
  readonly memory?: string | undefined;
}

function stored({ cpu, ...rest }: Amounts): Record<string, string> {
  const amounts = cpu === undefined ? rest : { cpu: wholeMillicores(cpu), ...rest };
  return amounts as Record<string, string>;
}

/**
 * The member `resources` of a container, as the API server stores it: it keeps no finer cores than thousandths, and what
 * it stores otherwise than it was written would be written again and again. Nothing where none are given.
 */
export function containerResources(
  resources: { readonly requests?: Amounts | undefined; readonly limits?: Amounts | undefined } | undefined,
): Pick<V1Container, 'resources'> {
  if (resources === undefined) return {};
  const { requests, limits } = resources;
  return {
    resources: {
      ...(requests === undefined ? {} : { requests: stored(requests) }),
      ...(limits === undefined ? {} : { limits: stored(limits) }),
    },
  };
}
