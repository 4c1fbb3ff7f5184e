import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { databaseName, serviceAccountName } from '../../../workloads/names.ts';
import { isImmutable } from '../../kube/compare/compare-rules.ts';
import { type Action, actionId, type Plan, STAGES, type Stage } from '../action.ts';
import { type Removal, removalsAt } from '../changes/added-fields.ts';
import { namesAddition } from '../changes/cluster-changes.ts';
import { isRouteKind } from '../kinds.ts';
import { componentsGone, holdsLeavingVolume, someComponentRuns } from '../observe/data-services.ts';
import { type ChildObject, childId, type Observed } from '../observed.ts';
import { workloadState } from '../pods/workload-state.ts';
import { awaitedBy, isUntouched, releaseOf, type Target } from '../rollout/target.ts';
import { additionsIn, type Comparison, PAUSED_PATH } from './comparison.ts';
import { planReplicas } from './plan-replicas.ts';
import { volumeChange } from './plan-volume.ts';
import { AUTOSCALER, removalId, removals } from './removals.ts';
import { servicesMissing } from './services-in-use.ts';

export interface PlanInput {
  readonly observed: Observed;
  readonly target: Target;
  readonly comparisons: readonly Comparison[];
  /** Whether every component runs the target. Until then, objects that the former templates may need are kept. */
  readonly complete: boolean;
  /** Deployments that finish their rollout before they change; see rollback-gate.ts. */
  readonly finishing: ReadonlySet<string>;
  /** Routes, by `childId`, that are no longer desired but are kept until their replacement serves the app. */
  readonly keptRoutes: ReadonlySet<string>;
}

/** Plans the actions from desired to observed state. Pure; empty when the observed state equals the desired state. */
export function plan(input: PlanInput): Plan {
  const { observed, target, comparisons } = input;
  const open = mayStart(observed, target);
  const actions: Action[] = [];
  const waiting: string[] = [];
  for (const comparison of comparisons) {
    const awaited = awaitedByComponents(comparison, open, target);
    if (awaited !== null) {
      waiting.push(`${comparison.id} waits for ${awaited}`);
    } else if (comparison.state === 'leaving') {
      waiting.push(`${comparison.id} is being deleted and will be created again`);
    } else if (holdsLeavingVolume(observed, comparison.object)) {
      waiting.push(`${comparison.id} is not changed while its volume claim is being deleted`);
    } else if (isUntouched(target) && isComponent(comparison)) {
      // The stored templates of the component are missing, so the component is not changed.
    } else if (input.finishing.has(comparison.id)) {
      waiting.push(`${comparison.id} finishes its rollout before it is rolled back`);
    } else {
      const planned = planObject(input, comparison);
      actions.push(...planned.actions);
      waiting.push(...planned.waiting, ...heldByCluster(comparison));
    }
  }
  const store = open ? storeTemplates(target.store ?? awaitedBy(target)?.store ?? null) : [];
  return { actions: [...store, ...releaseTaskCreation(target), ...actions, ...removals(input)], waiting };
}

/** What an object waits for, if it waits until the components may start; null: it does not wait. */
function awaitedByComponents(comparison: Comparison, open: boolean, target: Target): string | null {
  if (!comparison.desired.afterDataServices || isRouteThere(comparison)) return null;
  if (!open) return 'database and cache';
  return isBeforeRelease(target) ? 'the release command' : null;
}

/** Whether the components of the target wait for a release command. While a revision is active, it is the target. */
function isBeforeRelease(target: Target): boolean {
  return target.kind === 'rollout' && target.release !== undefined;
}

function releaseTaskCreation(target: Target): Action[] {
  const release = releaseOf(target);
  if (release?.kind !== 'create') return [];
  const { task } = release;
  return [
    {
      kind: 'create',
      id: actionId('create', task.kind, task.metadata.name),
      reason: 'runs the release command',
      stage: STAGES.prerequisites,
      after: [],
      object: task,
      once: true,
    },
  ];
}

/** Whether the cluster changes the object, and the next attempt is not due. */
function isHeld({ change, state }: Comparison): boolean {
  return change !== undefined && (state === 'different' || state === 'missing') && !change.isDue;
}

const heldByCluster = (comparison: Comparison) =>
  isHeld(comparison) ? [`the cluster changes ${comparison.id}`] : [];

function isComponent({ desired }: Comparison): boolean {
  return desired.replicas !== undefined && desired.afterDataServices;
}

/** A new route waits until the app can serve. An existing route is changed at once, regardless of rollouts. */
function isRouteThere({ object, live }: Comparison): boolean {
  return isRouteKind(object.kind) && live !== undefined;
}

/**
 * Whether components may start: the database and the cache that they use are ready. A data service that fails later
 * does not block running components. A suspended deployment starts no components.
 */
export function mayStart(observed: Observed, target: Target): boolean {
  return (
    observed.resource.spec.suspend ||
    someComponentRuns(observed) ||
    servicesMissing(observed, target).length === 0
  );
}

function storeTemplates(store: Target['store']): Action[] {
  if (store === null) return [];
  return [
    {
      kind: 'create',
      id: actionId('create', store.kind, store.metadata.name),
      reason: 'stores the templates of the rollout',
      stage: STAGES.prerequisites,
      after: [],
      object: store,
      once: true,
    },
  ];
}

function planObject(input: PlanInput, comparison: Comparison): Plan {
  const { desired, state, live } = comparison;
  if (desired.contents === 'database-credentials') {
    return { actions: state === 'missing' ? [credentials(comparison)] : [], waiting: [] };
  }
  if (state === 'missing')
    return { actions: isHeld(comparison) ? [] : [creation(input, comparison)], waiting: [] };
  if (live === undefined) return { actions: [], waiting: [] };
  if (desired.storage !== undefined) {
    return { actions: volumeChange(input.observed, comparison, live), waiting: [] };
  }
  if (desired.replicas !== undefined) {
    return planReplicas({
      comparison,
      live,
      replicas: desired.replicas,
      apply: applying(input, comparison, live),
      autoscalerMissing: autoscalerState(input, comparison) === 'missing',
      autoscalerRemoval: removalId(AUTOSCALER, comparison.object.metadata.name),
      mayStop: desired.afterDataServices || componentsGone(input.observed),
    });
  }
  return { actions: applying(input, comparison, live), waiting: [] };
}

function autoscalerState(
  { comparisons }: PlanInput,
  { object }: Comparison,
): Comparison['state'] | undefined {
  const id = childId(AUTOSCALER, object.metadata.name);
  return comparisons.find((candidate) => candidate.id === id)?.state;
}

function credentials({ object }: Comparison): Action {
  return {
    kind: 'credentials',
    id: actionId('credentials', object.kind, object.metadata.name),
    reason: 'a new volume needs its credentials first',
    stage: STAGES.prerequisites,
    after: [],
  };
}

const STAGE_OF: Readonly<Record<string, Stage>> = {
  ServiceAccount: STAGES.foundations,
  NetworkPolicy: STAGES.foundations,
  PersistentVolumeClaim: STAGES.foundations,
  [AUTOSCALER]: STAGES.autoscalers,
};

const stageOf = (kind: string): Stage => STAGE_OF[kind] ?? STAGES.objects;

/**
 * Kinds whose missing objects no pod uses. An object of these kinds need not wait until the status names the rollout,
 * which saves a stage.
 */
const EARLY: ReadonlySet<string> = new Set(['ServiceAccount', 'NetworkPolicy']);

/** Ids of actions that must succeed before this object is written, if the plan contains them. */
function dependencies({ observed, target }: PlanInput, { object }: Comparison): string[] {
  const { kind, metadata } = object;
  const database = databaseName(observed.resource);
  const account = actionId('create', 'ServiceAccount', serviceAccountName(observed.resource));
  switch (kind) {
    case 'PersistentVolumeClaim':
      return [actionId('credentials', 'Secret', database)];
    // If other deployments have objects with these names, the database must not use them.
    case 'StatefulSet':
      return [
        actionId('credentials', 'Secret', database),
        actionId('create', 'PersistentVolumeClaim', database),
      ];
    case 'Deployment':
      return target.store === null
        ? [account]
        : [account, actionId('create', target.store.kind, target.store.metadata.name)];
    case AUTOSCALER:
      return (['create', 'scale'] as const).map((action) => actionId(action, 'Deployment', metadata.name));
    default:
      return [];
  }
}

function creation(input: PlanInput, comparison: Comparison): Action {
  const { desired, object, change } = comparison;
  const { replicas } = desired;
  const start =
    replicas === undefined ? undefined : replicas.kind === 'fixed' ? replicas.count : replicas.min;
  return {
    kind: 'create',
    id: actionId('create', object.kind, object.metadata.name),
    reason: 'is missing',
    stage: EARLY.has(object.kind) ? STAGES.prerequisites : stageOf(object.kind),
    after: dependencies(input, comparison),
    object,
    once: desired.policy === 'create-only',
    ...(start === undefined ? {} : { replicas: start }),
    ...(change === undefined ? {} : { probe: change.hash }),
  };
}

const SHOWN_DIFFERENCES = 3;

/**
 * Fields that an apply alone does not remove: unsafe fields without an owner, and safe fields that a policy added. A policy
 * that is still active adds the fields again in the same call. If the desired object itself changed, the apply comes
 * first, because it removes the former fields together with its other changes.
 */
function toRemove({ observed }: PlanInput, comparison: Comparison, live: ChildObject): Removal[] {
  const { id, object, kept = [], differences } = comparison;
  const known = observed.responses?.get(id);
  const ofCluster = known === undefined ? [] : kept.filter((addition) => namesAddition(known, addition));
  const paths = ofCluster.map(({ path }) => path);
  const unsafe = isDrift(differences) ? additionsIn(object, live).removals : [];
  return [...unsafe, ...removalsAt(object, live, paths)];
}

/** Whether the desired object was applied before and has been edited since. */
const isDrift = (differences: Comparison['differences']): boolean =>
  !differences.some(({ path }) => path === `metadata.annotations[${ANNOTATIONS.appliedHash}]`);

/**
 * Replaces an object. The new object adopts the pods of the old object, because they match its selector, and rolls them
 * out.
 */
function replacing(comparison: Comparison, live: ChildObject): Action {
  const { id, object, differences } = comparison;
  const { uid = '', resourceVersion = '' } = live.metadata;
  return {
    kind: 'replace',
    id: actionId('replace', object.kind, object.metadata.name),
    reason: 'has a field that cannot be changed',
    stage: stageOf(object.kind),
    after: [],
    object,
    uid,
    resourceVersion,
    keepsPods: workloadState(live).ready > 0,
    comparison: { id, object, differences },
  };
}

function applying(input: PlanInput, comparison: Comparison, live: ChildObject): Action[] {
  if (comparison.state !== 'different' || isHeld(comparison)) return [];
  const { object, differences, change } = comparison;
  if (differences.some((difference) => isImmutable(object, difference))) return [replacing(comparison, live)];
  const added = toRemove(input, comparison, live);
  const { foreign } = additionsIn(object, live);
  const shown = differences.slice(0, SHOWN_DIFFERENCES).map(({ path, why }) => `${path} ${why}`);
  return [
    {
      kind: 'apply',
      id: actionId('apply', object.kind, object.metadata.name),
      reason: shown.join('; '),
      stage: stageOf(object.kind),
      after: dependencies(input, comparison),
      object,
      uid: live.metadata.uid ?? '',
      drift: isDrift(differences),
      ...(differences.some(({ path }) => path === PAUSED_PATH) ? { resume: true } : {}),
      ...(added.length === 0 ? {} : { added }),
      ...(foreign.length === 0 ? {} : { foreign }),
      ...(change === undefined ? {} : { probe: change.hash }),
    },
  ];
}
