import type { ManagedDeploymentSpec } from '../../../contract/resource/managed-deployment.ts';
import { COMPONENTS, type Component } from '../../../domain/resource-spec/components.ts';
import type { PodTemplates } from '../../../workloads/desired-object.ts';
import { componentName } from '../../../workloads/names.ts';
import { ownServicesOf, poolSizeOf } from '../../../workloads/objects/app-env.ts';
import { hasEnded } from '../../kube/client/object.ts';
import type { ActiveRevision, Observed, ObservedResource } from '../observed.ts';
import { isOfTemplate, podsOf, startedOnce } from '../pods/pod-trouble.ts';
import { stateOf } from '../pods/workload-state.ts';
import { componentsOf, type InspectionTarget, servedBy, type Target } from '../rollout/target.ts';

/** The number of pods of the target's components, where it differs from the spec. */

type ComponentSpec = ManagedDeploymentSpec['components']['api'];
type Scales = NonNullable<ActiveRevision['scales']>;
type Scale = Pick<ComponentSpec['scale'], 'min' | 'max'>;
const ONE_POD = { min: 1, max: 1 };
const NO_POD = { min: 0, max: 0 };

/**
 * The resource with the pod counts of the target.
 * - If the active revision runs although another revision is desired, a component that the spec no longer has keeps its
 *   pods. All components keep their pod counts while each of their pods uses more database connections than a pod of
 *   the spec.
 * - While such pods are replaced, the pod counts do not grow.
 * - A component that is kept for inspection has one pod.
 * @param isHeld the result of `holdsPodCounts`
 */
export function scaledFor(observed: Observed, target: Target, isHeld: boolean): ObservedResource {
  const { resource } = observed;
  const { components } = resource.spec;
  const served = servedBy(target);
  const scaled = componentsOf(target).flatMap((component): [Component, ComponentSpec][] => {
    const spec = components[component];
    if (target.kind === 'inspection' && resource.status?.activeRevision === undefined) {
      return [[component, { ...spec, scale: forInspection(target, component, spec) }]];
    }
    if (served === null) {
      // A newer revision, which lacks the component, waits for this rollout.
      const isLeft = target.heldUntil !== null && spec === undefined;
      if (isLeft) return [[component, { scale: running(observed, component) }]];
      if (spec === undefined || !isHeld) return [];
      return [[component, { ...spec, scale: noMoreThan(before(observed, component), spec.scale) }]];
    }
    if (spec !== undefined && fitsConnections(resource, target.templates ?? {})) return [];
    const scale = served.scales?.[component] ?? spec?.scale ?? running(observed, component);
    return [[component, { ...spec, scale }]];
  });
  if (scaled.length === 0) return resource;
  const spec = { ...resource.spec, components: { ...components, ...Object.fromEntries(scaled) } };
  return { ...resource, spec };
}

/** Whether a pod of these templates uses at most the connections to Berth's own database that a pod of the spec uses. */
export function fitsConnections(resource: ObservedResource, templates: PodTemplates): boolean {
  if ((poolSizeOf(templates) ?? 0) <= resource.spec.database.poolSize) return true;
  return !ownServicesOf(resource, templates).database;
}

/**
 * Whether the pod counts must not grow yet, because pods that the rollout replaces still run and each use more database
 * connections than a pod of the target. Pods that have ended, or that have no controller, are ignored.
 */
export function holdsPodCounts(observed: Observed, target: Target): boolean {
  if (target.kind !== 'rollout') return false;
  const { activeRevision, rollout } = observed.resource.status ?? {};
  const former = [activeRevision?.templates, rollout?.templates].filter((name) => name !== target.name);
  const isLarger = observed.storedTemplates
    .filter(({ name }) => former.includes(name))
    .some((stored) => !fitsConnections(observed.resource, stored.templates()));
  return isLarger && COMPONENTS.some((component) => runsFormer(observed, target, component));
}

function runsFormer(observed: Observed, { templates }: Target, component: Component): boolean {
  const template = templates?.[component];
  if (template === undefined) return false;
  return podsOf(observed, component).some(
    (pod) => !hasEnded(pod) && pod.orphan !== true && !isOfTemplate(pod, template),
  );
}

function before(observed: Observed, component: Component): Scale {
  return observed.resource.status?.activeRevision?.scales?.[component] ?? running(observed, component, 0);
}

const noMoreThan = (most: Scale, scale: Scale): Scale => ({
  min: Math.min(most.min, scale.min),
  max: Math.min(most.max, scale.max),
});

/** One pod for inspection; no pod if the component is switched off, or if its ended pods can be inspected. */
function forInspection(
  { failure, templates }: InspectionTarget,
  component: Component,
  spec?: ComponentSpec,
): Scale {
  if (spec?.scale.max === 0) return spec.scale;
  const { failureSource } = failure.failed;
  const template = templates?.[component];
  if (failureSource?.component !== component || template === undefined) return ONE_POD;
  return startedOnce(template).has(failureSource.container ?? '') ? NO_POD : ONE_POD;
}

function running(observed: Observed, component: Component, least = 1): { min: number; max: number } {
  const name = componentName(observed.resource, component);
  const count = Math.max(least, stateOf(observed, 'Deployment', name)?.wanted ?? 1);
  return { min: count, max: count };
}

/** The observed pod counts of the target's components. */
export function scalesSeen(observed: Observed, target: Target): Scales {
  return Object.fromEntries(
    componentsOf(target).map((component) => [component, running(observed, component, 0)]),
  );
}

/** The scales of the target's components in the spec, in the form of the status. */
export function scalesOf({ spec: { components } }: ObservedResource, target: Target): Scales {
  return Object.fromEntries(
    componentsOf(target).flatMap((component) => {
      const scale = components[component]?.scale;
      return scale === undefined ? [] : [[component, { min: scale.min, max: scale.max }]];
    }),
  );
}
