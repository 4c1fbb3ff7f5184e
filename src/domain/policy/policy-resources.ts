import { type ContainerAt, eachContainer } from '../kubernetes/pod-containers.ts';
import { parseQuantity } from '../kubernetes/quantity.ts';
import { COMPONENTS } from '../resource-spec/components.ts';
import { CONTAINER_DEFAULTS, type DefaultedResource } from '../resource-spec/container-defaults.ts';
import { matchesAny, type Policy } from './policy.ts';
import type { PodView, Violation } from './policy-view.ts';

/** Rules for resources of the init containers, sidecars and volumes of a tenant, and for GPUs. */

const spec = (...path: (string | number)[]) => ['source_config', 'resource_spec', ...path];

const DEFAULTED = Object.keys(CONTAINER_DEFAULTS.limits) as DefaultedResource[];
const isDefaulted = (name: string) => (DEFAULTED as string[]).includes(name);

/** Devices and huge pages, which are scarce and exclusively allocated. */
function extendedIssues({ container: { resources }, loc }: ContainerAt, allowed: readonly string[]) {
  return (['requests', 'limits'] as const).flatMap((part) =>
    Object.keys(resources?.[part] ?? {})
      .filter((name) => !isDefaulted(name) && !matchesAny(name, allowed))
      .map((name) => ({
        loc: spec(...loc, 'resources', part, name),
        msg: 'the policy does not allow this resource',
      })),
  );
}

/** Rejects requests above the default limit of the cluster, because Kubernetes rejects such pods. */
function limitIssues({ container: { resources }, loc }: ContainerAt): Violation[] {
  return DEFAULTED.flatMap((name) => {
    const { [name]: request } = resources?.requests ?? {};
    if (request === undefined || resources?.limits?.[name] !== undefined) return [];
    const most = CONTAINER_DEFAULTS.limits[name];
    if ((parseQuantity(request) ?? 0n) <= (parseQuantity(most) ?? 0n)) return [];
    const msg = `needs a limit for the same resource, because without a limit the container gets a limit of ${most}`;
    return [{ loc: spec(...loc, 'resources', 'requests', name), msg }];
  });
}

/** GPUs of the components that are no allowed devices. */
function gpuIssues({ settings }: PodView, allowed: readonly string[]): Violation[] {
  return COMPONENTS.flatMap((component) => {
    const gpu = settings.gpu?.[component];
    if (gpu === undefined || matchesAny(gpu.resource, allowed)) return [];
    const loc = ['source_config', 'gpu', component, 'resource'];
    return [{ loc, msg: 'the policy does not allow this resource' }];
  });
}

/** Resources that the policy does not allow, and requests that need a limit. */
export function resourceIssues(view: PodView, { resources }: Policy): Violation[] {
  const { spec: sent } = view;
  const ofContainers = eachContainer(sent).flatMap((each) => [
    ...extendedIssues(each, resources.allowed_extended),
    ...(resources.default_limits ? limitIssues(each) : []),
  ]);
  const ofVolumes = (sent.volumes ?? []).flatMap(({ emptyDir }, index) => {
    const medium = emptyDir?.medium?.toLowerCase() ?? '';
    if (
      !medium.startsWith('hugepages') ||
      matchesAny(
        medium,
        resources.allowed_extended.map((name) => name.toLowerCase()),
      )
    )
      return [];
    return [
      { loc: spec('volumes', index, 'emptyDir', 'medium'), msg: 'the policy does not allow huge pages' },
    ];
  });
  return [...gpuIssues(view, resources.allowed_extended), ...ofContainers, ...ofVolumes];
}
