import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';

/** Which data services a resource has. */

export type DataServiceName = 'database' | 'cache';

/** For each data service, whether it applies. */
export type PerService = Readonly<Record<DataServiceName, boolean>>;

/** The data services, in the order of the contract. */
export const DATA_SERVICE_NAMES = ['database', 'cache'] as const satisfies readonly DataServiceName[];

type Spec = Pick<ManagedDeployment['spec'], DataServiceName>;

/** Whether Berth runs the service: the tenant neither provides it nor has switched it off. */
export const runsService = (spec: Spec, service: DataServiceName): boolean =>
  !spec[service].external && spec[service].enabled !== false;

/** Whether the pods have no such service at all: it is switched off, and the tenant does not provide it either. */
export const lacksService = (spec: Spec, service: DataServiceName): boolean =>
  !spec[service].external && spec[service].enabled === false;

/** The services that the pods do not have at all. */
export const servicesLacking = (spec: Spec): DataServiceName[] =>
  DATA_SERVICE_NAMES.filter((service) => lacksService(spec, service));

/** Who provides a service to pods: Berth, the tenant, or neither. */
export type Provider = 'berth' | 'tenant' | 'none';

const FIELDS: Readonly<Record<Provider, { readonly external: boolean; readonly enabled?: false }>> = {
  berth: { external: false },
  tenant: { external: true },
  none: { external: false, enabled: false },
};

/** The resource with these providers of its data services, to observe or plan them. Its pods are never rendered. */
export function withProviders<R extends ManagedDeployment>(
  resource: R,
  providers: Readonly<Partial<Record<DataServiceName, Provider>>>,
): R {
  const { spec } = resource;
  const services = Object.entries(providers).map(([service, provider]) => {
    const { enabled: _, ...others } = spec[service as DataServiceName];
    return [service, { ...others, ...FIELDS[provider] }];
  });
  return { ...resource, spec: { ...spec, ...Object.fromEntries(services) } };
}
