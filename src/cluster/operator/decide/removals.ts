import { apiVersionOf, RESOURCES } from '../../kube/client/resources.ts';
import { type Action, actionId, STAGES, type Stage } from '../action.ts';
import { childKindOf, isRouteKind, ROUTE_KINDS } from '../kinds.ts';
import { holdsLeavingVolume } from '../observe/data-services.ts';
import { isOfEarlierResource } from '../observe/ownership.ts';
import {
  type ChildObject,
  hasSameInputs,
  idOf,
  newestFirst,
  type Observed,
  type ObservedTemplates,
} from '../observed.ts';
import { isUntouched, type Target } from '../rollout/target.ts';
import type { PlanInput } from './plan.ts';

/** Removes objects that are no longer desired. */

export const AUTOSCALER = 'HorizontalPodAutoscaler';

/** Id of the action that removes an object. */
export function removalId(kind: string, name: string): string {
  return actionId('delete', kind, name);
}

/**
 * Kinds that are removed at once: kinds that limit the number of pods, and routes, whose host another deployment may
 * claim next. Other kinds are removed when the rollout no longer needs them.
 */
const PROMPT_KINDS: ReadonlySet<string> = new Set([AUTOSCALER, 'PodDisruptionBudget', ...ROUTE_KINDS]);

/** The deletions of objects that are no longer desired and no longer needed. */
export function removals({ observed, target, comparisons, complete, keptRoutes }: PlanInput): Action[] {
  const wanted = new Set(comparisons.map(({ id }) => id));
  return [...observed.children.values()]
    .filter((child) => childKindOf(child.kind)?.removable === true && !wanted.has(idOf(child)))
    .filter((child) => child.metadata.deletionTimestamp === undefined)
    .filter((child) => !isOfEarlierResource(child, observed.resource))
    .filter((child) => complete || PROMPT_KINDS.has(child.kind))
    .filter((child) => !isUntouched(target) || (target.templates !== null && isRouteKind(child.kind)))
    .filter((child) => !keptRoutes.has(idOf(child)))
    .filter((child) => !holdsLeavingVolume(observed, child))
    .map((child) =>
      deletion(
        child,
        'is no longer desired',
        child.kind === AUTOSCALER ? STAGES.prerequisites : STAGES.removal,
      ),
    );
}

/** Deletes exactly this object in exactly this version. */
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

/** The number of newest stored templates that are kept. Templates in use are also kept. */
export const KEPT_TEMPLATES = 10;

/**
 * Unused stored templates that differ from newer unused ones only in the values of Secrets. They do not count, so that
 * frequent rotations do not remove the templates of earlier revisions.
 */
function supersededCopies(newest: readonly ObservedTemplates[]): ReadonlySet<string> {
  const copies = newest.filter((stored, index) =>
    newest.slice(0, index).some((newer) => hasSameInputs(newer, stored)),
  );
  return new Set(copies.map(({ name }) => name));
}

/** Removes stored templates that are neither in use nor among the newest. Called only when no rollout is in progress. */
export function removeOldTemplates(observed: Observed, target: Target): Action[] {
  const { activeRevision, rollout, failedRevision, failedChange } = observed.resource.status ?? {};
  const inUse = new Set([
    target.name,
    activeRevision?.templates,
    rollout?.templates,
    failedRevision?.templates,
    failedRevision?.serving,
    failedChange?.templates,
  ]);
  const { kind } = RESOURCES.ControllerRevision;
  const { namespace } = observed.resource.metadata;
  const newest = newestFirst(observed.storedTemplates);
  const copies = supersededCopies(newest.filter(({ name }) => !inUse.has(name)));
  const counted = newest.filter(({ name }) => !copies.has(name));
  const kept = new Set(counted.slice(0, KEPT_TEMPLATES).map(({ name }) => name));
  return newest
    .filter(({ name }) => !inUse.has(name) && !kept.has(name))
    .map(({ name, uid, resourceVersion }) =>
      deletion(
        {
          apiVersion: apiVersionOf(RESOURCES.ControllerRevision),
          kind,
          metadata: { name, namespace, uid, resourceVersion },
        },
        copies.has(name) ? 'differs from newer ones only in values of Secrets' : 'is older than the last ten',
        STAGES.removal,
      ),
    );
}
