import type { RenderConfig } from '../../../contract/render/render-config.ts';
import type { Component } from '../../../domain/resource-spec/components.ts';
import type { DesiredObject, KubeObject } from '../../../workloads/desired-object.ts';
import { desiredObjects } from '../../../workloads/desired-objects.ts';
import { app } from '../../../workloads/names.ts';
import { portsOf } from '../../../workloads/run-settings.ts';
import { componentsThatYield } from '../access/exclusive-volumes.ts';
import { allowedImages, refusedServices, withoutRefusedServices } from '../access/service-spec-policy.ts';
import { isAdmitted } from '../domains/observed-host.ts';
import { isRouteKind } from '../kinds.ts';
import { chooseDataImages, type DataImages } from '../observe/data-images.ts';
import type { Observed } from '../observed.ts';
import { withPinnedTemplates } from '../rollout/pinned-service-templates.ts';
import { selectTarget } from '../rollout/select-target.ts';
import type { Target } from '../rollout/target.ts';
import { holdsPodCounts, scaledFor } from './scales.ts';
import { activeTemplates, keepServicesInUse } from './services-in-use.ts';

/** The state that the cluster should have now. */
export interface DesiredState {
  readonly target: Target;
  readonly objects: readonly DesiredObject[];
  readonly dataImages: DataImages;
  /** Whether the number of pods stays below the spec until other pods have ended; see `holdsPodCounts`. */
  readonly isHeld: boolean;
  /** Components whose old pod ends before the new pod starts; see exclusive-volumes.ts. */
  readonly yielding: ReadonlySet<Component>;
}

/** The ports of the active revision while another one is rolled out. Only the rules of isolated apps name ports. */
function servingPorts(observed: Observed, target: Target, { networkIsolation }: RenderConfig): number[] {
  const active = observed.resource.status?.activeRevision?.templates;
  if (!networkIsolation || active === undefined || target.name === active) return [];
  try {
    return portsOf(activeTemplates(observed) ?? {});
  } catch {
    // Another writer has edited the stored templates, so their pods cannot be known.
    return [];
  }
}

/** Whether the host of a route object may be routed. */
function mayRoute(
  { metadata: { name } }: KubeObject,
  { resource, hostRefused, domains = [] }: Observed,
): boolean {
  if (name === app(resource)) return hostRefused === undefined;
  return domains.some((host) => host.routeName === name && isAdmitted(host));
}

/** The target and the objects for it. Objects that the policy or the cluster does not allow are omitted. */
export function desiredState(observed: Observed, config: RenderConfig, now: Date): DesiredState {
  const target = selectTarget(observed, config, now);
  const isHeld = holdsPodCounts(observed, target);
  const wanted = keepServicesInUse(scaledFor(observed, target, isHeld), observed, target);
  const dataImages = allowedImages(chooseDataImages(observed, wanted, config), observed);
  const yielding = componentsThatYield(observed, target);
  const rendered = desiredObjects(wanted, config, {
    yielding,
    templates: target.templates,
    databaseImage: dataImages.database,
    cacheImage: dataImages.cache,
    servingPorts: servingPorts(observed, target, config),
  });
  const allowed = withoutRefusedServices(rendered, observed).filter(
    ({ object }) =>
      !observed.missingKinds?.has(object.kind) && (!isRouteKind(object.kind) || mayRoute(object, observed)),
  );
  const objects = withPinnedTemplates(allowed, wanted, observed, dataImages, refusedServices(observed));
  return { target, objects, dataImages, isHeld, yielding };
}
