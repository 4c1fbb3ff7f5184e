import { ANNOTATIONS } from '../contract/names.ts';
import { controllerOf } from '../kube/object.ts';
import { databaseName, serviceAccountName } from '../workloads/names.ts';
import { type Action, actionId, type Plan, STAGES, type Stage } from './action.ts';
import type { Comparison } from './comparison.ts';
import {
  componentsGone,
  dataServicesReady,
  isLarger,
  someComponentRuns,
  volumeState,
} from './data-services.ts';
import { childKindOf } from './kinds.ts';
import { type ChildObject, childId, idOf, type Observed } from './observed.ts';
import { isOfEarlierResource } from './ownership.ts';
import { planReplicas } from './plan-replicas.ts';
import { awaitsNewService } from './services-in-use.ts';
import type { Target } from './target.ts';

export interface PlanInput {
  readonly observed: Observed;
  readonly target: Target;
  readonly comparisons: readonly Comparison[];
  /** Every component runs the target. Until then nothing is removed that the former templates may need. */
  readonly complete: boolean;
  /** Deployments that come to the end of their rollout before they are touched; see turn-round.ts. */
  readonly finishing: ReadonlySet<string>;
  /** A route that is no longer wanted still leads to the app, and its successor does not yet. */
  readonly keepRoutes: boolean;
}

const AUTOSCALER = 'HorizontalPodAutoscaler';

/** From what is wanted and what is there to what is to be done. Pure; empty when all is as it is wanted. */
export function plan(input: PlanInput): Plan {
  const { observed, target, comparisons } = input;
  const open = mayStart(observed, target);
  const actions: Action[] = [];
  const waiting: string[] = [];
  for (const comparison of comparisons) {
    if (comparison.desired.afterDataServices && !open) {
      waiting.push(`${comparison.id} waits for database and cache`);
    } else if (comparison.state === 'leaving') {
      waiting.push(`${comparison.id} is being deleted and will be made again`);
    } else if (input.finishing.has(comparison.id)) {
      waiting.push(`${comparison.id} finishes its rollout, then it is turned back`);
    } else {
      const planned = planObject(input, comparison);
      actions.push(...planned.actions);
      waiting.push(...planned.waiting);
    }
  }
  const store = open ? storeTemplates(target) : [];
  return { actions: [...store, ...actions, ...removals(input)], waiting };
}

/**
 * Components start when database and cache are ready. What already runs is not held up by a database that fails later.
 * Switched off, nothing starts anyway.
 */
export function mayStart(observed: Observed, target: Target): boolean {
  if (observed.resource.spec.suspend || dataServicesReady(observed)) return true;
  return someComponentRuns(observed) && !awaitsNewService(observed, target);
}

function storeTemplates({ store }: Target): Action[] {
  if (store === null) return [];
  return [
    {
      kind: 'create',
      id: actionId('create', store.kind, store.metadata.name),
      reason: 'keeps the templates of the rollout',
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
  if (state === 'missing') return { actions: [creation(input, comparison)], waiting: [] };
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

const FOUNDATIONS: ReadonlySet<string> = new Set([
  'PersistentVolumeClaim',
  'ServiceAccount',
  'NetworkPolicy',
]);

function stageOf(kind: string): Stage {
  if (kind === AUTOSCALER) return STAGES.autoscalers;
  return FOUNDATIONS.has(kind) ? STAGES.foundations : STAGES.objects;
}

/** What must have happened before this object is written, if it is to happen at all. */
function dependencies({ observed, target }: PlanInput, { object }: Comparison): string[] {
  const { kind, metadata } = object;
  const database = databaseName(observed.resource);
  const account = actionId('create', 'ServiceAccount', serviceAccountName(observed.resource));
  switch (kind) {
    case 'PersistentVolumeClaim':
      return [actionId('credentials', 'Secret', database)];
    // What exists under these names and is somebody else's must not be run on.
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
  const { desired, object } = comparison;
  const { replicas } = desired;
  const start =
    replicas === undefined ? undefined : replicas.kind === 'fixed' ? replicas.count : replicas.min;
  return {
    kind: 'create',
    id: actionId('create', object.kind, object.metadata.name),
    reason: 'is missing',
    stage: stageOf(object.kind),
    after: dependencies(input, comparison),
    object,
    once: desired.policy === 'create-only',
    ...(start === undefined ? {} : { replicas: start }),
  };
}

const SHOWN_DIFFERENCES = 3;

function applying(input: PlanInput, comparison: Comparison, live: ChildObject): Action[] {
  if (comparison.state !== 'different') return [];
  const { object, differences } = comparison;
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
      drift: !differences.some(({ path }) => path === `metadata.annotations[${ANNOTATIONS.appliedHash}]`),
    },
  ];
}

/** The volume may grow, and follow a change of volumePolicy; all else of it stays as it was made. */
function volumeChange(observed: Observed, { desired, object }: Comparison, live: ChildObject): Action[] {
  const wanted = desired.storage ?? '0';
  const volume = volumeState(observed);
  const grows = volume?.bound === true && isLarger(wanted, volume.requested);
  const isOwned = controllerOf(live)?.uid === observed.resource.metadata.uid;
  if (!grows && isOwned === desired.owned) return [];
  const change = {
    ...(grows ? { storage: wanted } : {}),
    ...(isOwned === desired.owned ? {} : { owned: desired.owned }),
  };
  return [
    {
      kind: 'volume',
      id: actionId('volume', object.kind, object.metadata.name),
      reason: grows ? `grows to ${wanted}` : 'volumePolicy has changed',
      stage: STAGES.objects,
      after: [],
      object,
      uid: live.metadata.uid ?? '',
      resourceVersion: live.metadata.resourceVersion ?? '',
      change,
      followers: observed.storedTemplates.map(({ name, uid }) => ({ name, uid })),
    },
  ];
}

function removalId(kind: string, name: string): string {
  return actionId('delete', kind, name);
}

/** Kinds that say how many pods run; they go at once. All else waits until the rollout no longer needs it. */
const SCALING_KINDS: ReadonlySet<string> = new Set([AUTOSCALER, 'PodDisruptionBudget']);

const ROUTE_KINDS: ReadonlySet<string> = new Set(['Ingress', 'HTTPRoute']);

function removals({ observed, comparisons, complete, keepRoutes }: PlanInput): Action[] {
  const wanted = new Set(comparisons.map(({ id }) => id));
  return [...observed.children.values()]
    .filter((child) => childKindOf(child.kind)?.removable === true && !wanted.has(idOf(child)))
    .filter((child) => child.metadata.deletionTimestamp === undefined)
    .filter((child) => !isOfEarlierResource(child, observed.resource))
    .filter((child) => complete || SCALING_KINDS.has(child.kind))
    .filter((child) => !(keepRoutes && ROUTE_KINDS.has(child.kind)))
    .map((child) =>
      deletion(
        child,
        'is no longer wanted',
        child.kind === AUTOSCALER ? STAGES.prerequisites : STAGES.removal,
      ),
    );
}

/** Deletes exactly this object, in exactly this state. */
export function deletion(
  object: Pick<ChildObject, 'apiVersion' | 'kind' | 'metadata'>,
  reason: string,
  stage: Stage,
): Action {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace = '', uid = '', resourceVersion = '' } = metadata;
  return {
    kind: 'delete',
    id: removalId(kind, name),
    reason,
    stage,
    after: [],
    object: { apiVersion, kind, metadata: { name, namespace } },
    uid,
    resourceVersion,
  };
}
