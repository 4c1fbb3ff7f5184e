import type { ManagedDeploymentSpec, ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import { ANNOTATIONS } from '../contract/names.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import type { Component } from '../domain/resource-spec.ts';
import { desiredObjects } from '../workloads/desired-objects.ts';
import { componentName, databaseName } from '../workloads/names.ts';
import type { Action, Plan } from './action.ts';
import { type Comparison, compareAll } from './comparison.ts';
import type { Patience } from './failure-rules.ts';
import { removeOldTemplates } from './history.ts';
import { withKeptTemplates } from './kept-templates.ts';
import { liveChild, type Observed, type ObservedResource } from './observed.ts';
import { plan } from './plan.ts';
import { judge, type Rollout, type Verdict } from './rollout.ts';
import { routeReady } from './route-state.ts';
import { witnessChanges } from './secrets-check.ts';
import { keepingInUse } from './services-in-use.ts';
import { chooseTarget, componentsOf, type Target } from './target.ts';
import { turnRound } from './turn-round.ts';
import { stateOf } from './workload-state.ts';

type DataImages = NonNullable<ManagedDeploymentStatus['dataImages']>;

/** Everything that follows from one look at the cluster. */
export interface Decision extends Rollout {
  readonly target: Target;
  readonly dataImages: DataImages;
  readonly comparisons: readonly Comparison[];
  /** What brings the cluster to what is wanted. */
  readonly plan: Plan;
  /** What is tidied up once nothing is left to do. */
  readonly housekeeping: readonly Action[];
}

/** Decides what is to be done. Pure: the same look at the same time gives the same decision. */
export function decide(observed: Observed, config: RenderConfig, patience: Patience, now: Date): Decision {
  const target = chooseTarget(observed, config, now);
  const wanted = keepingInUse(scaledFor(observed, target), observed, target);
  const dataImages = chooseDataImages(observed, wanted, config);
  const desired = desiredObjects(wanted, config, {
    templates: target.templates,
    databaseImage: dataImages.database,
    cacheImage: dataImages.cache,
  });
  const possible = desired.filter(({ object }) => !observed.missingKinds?.has(object.kind));
  const comparisons = compareAll(withKeptTemplates(possible, wanted, observed, dataImages), observed);
  const rollout = judge({ observed, target, comparisons, patience, now });
  const complete = isComplete(rollout.verdict, target);
  const turn = turnRound(observed, target, comparisons, now);
  const todo = plan({
    observed,
    target,
    comparisons,
    complete,
    finishing: turn.finishing,
    keepRoutes: isRouteOnItsWay(observed, config),
  });
  const settled = complete && todo.actions.length === 0;
  return {
    ...rollout,
    turnsAt: rollout.turnsAt ?? turn.until,
    target,
    dataImages,
    comparisons,
    plan: todo,
    housekeeping: settled
      ? [...removeOldTemplates(observed, target), ...witnessChanges(observed, target)]
      : [],
  };
}

/** A route of the former kind stays until the one that replaces it leads somewhere. */
function isRouteOnItsWay(observed: Observed, config: RenderConfig): boolean {
  return routeReady(observed, config)?.status === 'False';
}

/** Whether what the former templates needed may go. Pods that are kept for inspection may need it. */
function isComplete(verdict: Verdict, target: Target): boolean {
  if (verdict.kind === 'failed') return target.kind === 'restored' && verdict.awaited === null;
  return verdict.kind === 'complete' || verdict.kind === 'idle';
}

/**
 * The resource with the pod counts that the target is to have. They are the wanted ones, but for a failure: a component
 * that comes back although it is no longer wanted keeps its pods, and what is kept for inspection needs but one.
 */
function scaledFor({ resource, ...observed }: Observed, target: Target): ObservedResource {
  const { components } = resource.spec;
  const scaled = componentsOf(target).flatMap((component): [Component, ComponentSpec][] => {
    if (target.kind === 'inspection' && resource.status?.activeRevision === undefined) {
      return [[component, { ...components[component], scale: ONE_POD }]];
    }
    if (target.kind !== 'restored' || components[component] !== undefined) return [];
    const running = stateOf({ resource, ...observed }, 'Deployment', componentName(resource, component));
    const count = Math.max(1, running?.wanted ?? 1);
    return [[component, { scale: { min: count, max: count } }]];
  });
  if (scaled.length === 0) return resource;
  const spec = { ...resource.spec, components: { ...components, ...Object.fromEntries(scaled) } };
  return { ...resource, spec };
}

type ComponentSpec = ManagedDeploymentSpec['components']['api'];
const ONE_POD = { min: 1, max: 1 };

/**
 * Images of the data services, fixed when they are made: a new default of the operator moves neither. They are kept in
 * the status, out of reach of whoever edits the workloads; a custom resource that was lost and made again finds the
 * database's on its volume.
 */
function chooseDataImages(observed: Observed, wanted: ObservedResource, config: RenderConfig): DataImages {
  const { resource } = observed;
  const { database, cache } = wanted.spec;
  const recorded = resource.status?.dataImages ?? {};
  const volume = liveChild(observed, 'PersistentVolumeClaim', databaseName(resource));
  const onVolume = volume?.metadata.annotations?.[ANNOTATIONS.databaseImage];
  return {
    ...(database.external
      ? {}
      : { database: recorded.database ?? onVolume ?? database.image ?? config.databaseImage }),
    ...(cache.external ? {} : { cache: recorded.cache ?? config.cacheImage }),
  };
}
