import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { missingImage, targetDuringLookup } from '../images/await-image.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import { afterFailure, refusal } from './after-failure.ts';
import { towards } from './rollout-gate.ts';
import { type FailedRevision, isSame, PLAIN, revisionOf, type Target } from './target.ts';
import { running, type Templates, wantedTemplates } from './template-selection.ts';

/**
 * Chooses the target.
 * - Off, or no image yet: the active revision's templates (with no pods, when off), or nothing.
 * - The stored templates of the wanted revision and inputs; rendered and stored first where there are none. So an
 *   operator that renders differently restarts nothing, and a change back finds the old templates.
 * - Where these have failed: the active revision's stored templates again, byte for byte, so that its ReplicaSets return;
 *   with a later change of source_config, that one in place.
 * - Where a registry is still asked for their image: what is under way, meanwhile.
 * - Where they wait for a database or cache of their own: what is active, meanwhile.
 */
export function chooseTarget(observed: Observed, config: RenderConfig, now: Date): Target {
  const { resource } = observed;
  if (resource.spec.suspend || resource.spec.revision.image === undefined)
    return withNothingToBegin(observed);
  const wanted = wantedTemplates(resource, observed, config);
  const failed =
    failureOf(resource, wanted) ??
    knownFailure(resource) ??
    refusal(resource, wanted, config, observed) ??
    missingImage(observed, wanted);
  if (failed !== null) return afterFailure(observed, config, failed, now);
  return targetDuringLookup(observed, wanted) ?? towards(observed, wanted, resource.spec.revision, now);
}

function withNothingToBegin({ resource, storedTemplates }: Observed): Target {
  const { activeRevision } = resource.status ?? {};
  const active = storedTemplates.find(({ name }) => name === activeRevision?.templates);
  const kind = resource.spec.suspend ? 'off' : active === undefined ? 'no-revision' : 'active';
  const revision = active === undefined ? null : (activeRevision ?? null);
  const failed = standingFailure(resource);
  const failedChange = failed === null ? null : (resource.status?.failedChange ?? null);
  return {
    ...PLAIN,
    ...running(active),
    kind,
    revision: revision === null ? null : revisionOf(revision),
    failed,
    failedChange,
  };
}

/**
 * The recorded failure of what is wanted, kept while it is switched off: what it comes to with no pods (a share of the
 * database's connections) is not what will be tried when it is on again.
 */
function standingFailure(resource: ObservedResource): FailedRevision | null {
  const { failedRevision } = resource.status ?? {};
  return failedRevision !== undefined && isRevision(resource, failedRevision) ? failedRevision : null;
}

/**
 * The recorded failure, if it is one of what is wanted now. A revision that was never active has failed for good, with
 * whatever source_config: `redeploy` makes another one of the same content. A change in place, and a resource without a
 * record, has failed with exactly these templates: the next change is tried. What is said to be refused and has stored
 * templates was let before: it is looked at again.
 */
function failureOf(resource: ObservedResource, { name, store }: Templates): FailedRevision | null {
  const { failedRevision: failed, activeRevision } = resource.status ?? {};
  if (failed === undefined || !isRevision(resource, failed)) return null;
  if (failed.reason === 'Refused' && failed.templates === undefined && store === null) return null;
  const inPlace = activeRevision !== undefined && isRevision(resource, activeRevision);
  return !inPlace && failed.id !== undefined ? failed : failed.templates === name ? failed : null;
}

/** The failure that the hub knows of, where no status does: what has served before comes first, with no second try. */
function knownFailure({ spec, status }: ObservedResource): FailedRevision | null {
  const { failed, revision, generation } = spec;
  if (failed === undefined || status?.activeRevision !== undefined || status?.failedRevision !== undefined)
    return null;
  const { reason, message } = failed;
  const { id, number } = revision;
  return { ...(id === undefined ? { number } : { id, number }), reason, message, generation };
}

function isRevision(resource: ObservedResource, revision: { id?: string; number: number }): boolean {
  return isSame(resource.spec.revision, revision);
}
