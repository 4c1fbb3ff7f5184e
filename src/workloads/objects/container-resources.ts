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
 * The field `resources` of a container, in the form that the API server stores: CPU is rounded to millicores. A value
 * that the API server changes would be applied again at every reconcile. The result is empty without resources.
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
