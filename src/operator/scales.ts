import type { ManagedDeploymentSpec } from '../contract/managed-deployment.ts';
import type { Component } from '../domain/resource-spec.ts';
import { poolSizeOf } from '../workloads/app-env.ts';
import { componentName } from '../workloads/names.ts';
import type { ActiveRevision, Observed, ObservedResource } from './observed.ts';
import { componentsOf, type Target } from './target.ts';
import { stateOf } from './workload-state.ts';

/** How many pods the target's components have. Mostly as many as the spec says; here is when not. */

type ComponentSpec = ManagedDeploymentSpec['components']['api'];
type Scales = NonNullable<ActiveRevision['scales']>;
const ONE_POD = { min: 1, max: 1 };

/**
 * The resource with the pod counts that the target is to have. Where what was active runs although something else is
 * wanted, a component that the spec no longer has keeps its pods; so do all of them, while each of their pods takes more
 * of the database's connections than the wanted ones would. What is kept for inspection needs but one.
 */
export function scaledFor(observed: Observed, target: Target): ObservedResource {
  const { resource } = observed;
  const { components } = resource.spec;
  const scaled = componentsOf(target).flatMap((component): [Component, ComponentSpec][] => {
    const spec = components[component];
    if (target.kind === 'inspection' && resource.status?.activeRevision === undefined) {
      return [[component, { ...spec, scale: ONE_POD }]];
    }
    if (target.served === null) {
      // A rollout that something newer waits for, which has the component no more.
      const isLeft = target.heldUntil !== null && spec === undefined;
      return isLeft ? [[component, { scale: running(observed, component) }]] : [];
    }
    if (spec !== undefined && fitsConnections(resource, target)) return [];
    const scale = target.served.scales?.[component] ?? spec?.scale ?? running(observed, component);
    return [[component, { ...spec, scale }]];
  });
  if (scaled.length === 0) return resource;
  const spec = { ...resource.spec, components: { ...components, ...Object.fromEntries(scaled) } };
  return { ...resource, spec };
}

/** Each pod of the target takes no more of the database's connections than one by the spec. */
export function fitsConnections({ spec: { database } }: ObservedResource, { templates }: Target): boolean {
  return database.external || (poolSizeOf(templates ?? {}) ?? 0) <= database.poolSize;
}

function running(observed: Observed, component: Component, least = 1): { min: number; max: number } {
  const name = componentName(observed.resource, component);
  const count = Math.max(least, stateOf(observed, 'Deployment', name)?.wanted ?? 1);
  return { min: count, max: count };
}

/** As many pods of the target's components as there are. */
export function scalesSeen(observed: Observed, target: Target): Scales {
  return Object.fromEntries(
    componentsOf(target).map((component) => [component, running(observed, component, 0)]),
  );
}

/** The scales that the spec gives the target's components, as the status keeps them. */
export function scalesOf({ spec: { components } }: ObservedResource, target: Target): Scales {
  return Object.fromEntries(
    componentsOf(target).flatMap((component) => {
      const scale = components[component]?.scale;
      return scale === undefined ? [] : [[component, { min: scale.min, max: scale.max }]];
    }),
  );
}
