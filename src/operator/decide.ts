import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import { ANNOTATIONS } from '../contract/names.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import { desiredObjects } from '../workloads/desired-objects.ts';
import { databaseName } from '../workloads/names.ts';
import type { Action, Plan } from './action.ts';
import { type Comparison, compareAll } from './comparison.ts';
import { removeOldTemplates } from './history.ts';
import { liveChild, type Observed } from './observed.ts';
import { plan } from './plan.ts';
import { judge, type Rollout } from './rollout.ts';
import { chooseTarget, type Target } from './target.ts';

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
export function decide(observed: Observed, config: RenderConfig, now: Date): Decision {
  const { resource } = observed;
  const target = chooseTarget(observed, config, now);
  const dataImages = chooseDataImages(observed, config);
  const desired = desiredObjects(resource, config, {
    templates: target.templates,
    databaseImage: dataImages.database,
    cacheImage: dataImages.cache,
  });
  const comparisons = compareAll(desired, observed);
  const rollout = judge(observed, target, comparisons);
  const complete = rollout.verdict.kind === 'complete' || rollout.verdict.kind === 'idle';
  const todo = plan({ observed, target, comparisons, complete });
  const settled = complete && todo.actions.length === 0;
  return {
    ...rollout,
    target,
    dataImages,
    comparisons,
    plan: todo,
    housekeeping: settled ? removeOldTemplates(observed, target) : [],
  };
}

/**
 * Images of the data services, fixed when they are made: a new default of the operator moves neither. They are kept in
 * the status, out of reach of whoever edits the workloads; a custom resource that was lost and made again finds the
 * database's on its volume.
 */
function chooseDataImages(observed: Observed, config: RenderConfig): DataImages {
  const { resource } = observed;
  const { database, cache } = resource.spec;
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
