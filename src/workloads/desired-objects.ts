import type { RenderConfig } from '../contract/render/render-config.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { COMPONENTS, type Component } from '../domain/resource-spec/components.ts';
import { componentDeployment, componentReplicas, componentScale } from './components.ts';
import { runsService } from './data-services.ts';
import type { DesiredContext, DesiredObject, KubeObject, PodTemplates, Replicas } from './desired-object.ts';
import { autoscaler } from './objects/autoscaler.ts';
import { cacheDeployment, cacheService } from './objects/cache.ts';
import { databaseService, databaseStatefulSet } from './objects/database.ts';
import { bareDatabaseCredentials } from './objects/database-credentials.ts';
import { databaseVolume } from './objects/database-volume.ts';
import { disruptionBudget } from './objects/disruption-budget.ts';
import { appPolicy, cachePolicy, databasePolicy } from './objects/network-policies.ts';
import { routes } from './objects/routing.ts';
import { appService } from './objects/service.ts';
import { serviceAccount } from './objects/service-account.ts';
import { ownsData } from './owner.ts';
import { appPort, portsOf } from './run-settings.ts';

/** An object that is applied and owned, like most objects. */
function applied(object: KubeObject, more: Partial<DesiredObject> = {}): DesiredObject {
  return { object, policy: 'apply', owned: true, afterDataServices: false, ...more };
}

/** The number of pods of a data service: 1, or 0 while the deployment is switched off. */
function onePodUnlessOff(resource: ManagedDeployment): Replicas {
  return { kind: 'fixed', count: resource.spec.suspend ? 0 : 1 };
}

function databaseObjects(
  resource: ManagedDeployment,
  config: RenderConfig,
  recordedImage: string | undefined,
): DesiredObject[] {
  const { database } = resource.spec;
  if (!runsService(resource.spec, 'database')) return [];
  const image = recordedImage ?? database.image ?? config.databaseImage;
  const createdOnce = { policy: 'create-only', owned: ownsData(resource) } as const;
  return [
    applied(databasePolicy(resource, config)),
    applied(bareDatabaseCredentials(resource), { ...createdOnce, contents: 'database-credentials' }),
    applied(databaseVolume(resource, config, image), { ...createdOnce, storage: database.storage }),
    applied(databaseService(resource)),
    applied(databaseStatefulSet(resource, image, config), { replicas: onePodUnlessOff(resource) }),
  ];
}

function cacheObjects(
  resource: ManagedDeployment,
  config: RenderConfig,
  runningImage: string | undefined,
): DesiredObject[] {
  if (!runsService(resource.spec, 'cache')) return [];
  const image = runningImage ?? config.cacheImage;
  return [
    applied(cachePolicy(resource, config)),
    applied(cacheService(resource)),
    applied(cacheDeployment(resource, image, config), { replicas: onePodUnlessOff(resource) }),
  ];
}

function componentObjects(
  resource: ManagedDeployment,
  config: RenderConfig,
  component: Component,
  template: NonNullable<PodTemplates[Component]>,
  yields: boolean,
): KubeObjectWithReplicas[] {
  const scale = componentScale(resource, component);
  const replicas = componentReplicas(resource, component);
  return [
    { object: componentDeployment(resource, component, template, config, yields), replicas },
    ...(scale.min >= 2 ? [{ object: disruptionBudget(resource, component) }] : []),
    ...(replicas.kind === 'autoscaled' ? [{ object: autoscaler(resource, component, scale) }] : []),
  ];
}

type KubeObjectWithReplicas = Pick<DesiredObject, 'object' | 'replicas'>;

function rolloutObjects(
  resource: ManagedDeployment,
  config: RenderConfig,
  templates: PodTemplates,
  yielding: ReadonlySet<Component>,
): DesiredObject[] {
  const components = COMPONENTS.flatMap((component) => {
    const template = templates[component];
    if (template === undefined) return [];
    return componentObjects(resource, config, component, template, yielding.has(component));
  });
  const routeObjects = routes(resource, config).map((object) => ({ object }));
  return [...components, ...routeObjects].map(({ object, ...more }: KubeObjectWithReplicas) =>
    applied(object, { ...more, afterDataServices: true }),
  );
}

/** The ports that pods of the app serve, from the lowest. Old pods keep their port until a rollout has replaced them. */
function openPorts(
  resource: ManagedDeployment,
  templates: PodTemplates | null,
  serving: readonly number[],
): number[] {
  const ports = new Set([...portsOf(templates ?? {}), ...serving]);
  if (ports.size === 0) ports.add(appPort(resource));
  return [...ports].sort((a, b) => a - b);
}

/**
 * All desired Kubernetes objects of the resource, in the order of creation.
 *
 * The components come from `context.templates`, not from the spec, because after a failed rollout the cluster runs the
 * stored templates of the active revision. The numbers of pods come from the spec. If the deployment (`spec.suspend`)
 * or a component (max 0) is switched off, its workloads are kept without pods, autoscaler and disruption budget.
 * Volume, credentials and Services are kept.
 *
 * The stored templates (ControllerRevision), which rollouts create and delete, and the env Secret, which the listener
 * writes, are not included.
 */
export function desiredObjects(
  resource: ManagedDeployment,
  config: RenderConfig,
  context: DesiredContext,
): DesiredObject[] {
  const { templates, databaseImage, cacheImage, servingPorts = [], yielding = new Set() } = context;
  return [
    ...serviceAccount(resource, templates).map((object) => applied(object)),
    ...appPolicy(resource, config, openPorts(resource, templates, servingPorts)).map((object) =>
      applied(object),
    ),
    ...databaseObjects(resource, config, databaseImage),
    ...cacheObjects(resource, config, cacheImage),
    applied(appService(resource)),
    ...(templates === null ? [] : rolloutObjects(resource, config, templates, yielding)),
  ];
}
