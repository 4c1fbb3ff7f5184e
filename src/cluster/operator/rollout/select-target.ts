import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { isTemplateInputsHash } from '../../../workloads/template-inputs.ts';
import { missingImage, targetDuringLookup } from '../images/await-image.ts';
import { hasSameInputs, type Observed, type ObservedResource } from '../observed.ts';
import { afterFailure, specRefusal } from './after-failure.ts';
import { currentTarget } from './current-target.ts';
import { gateRollout } from './rollout-gate.ts';
import { missingSecrets, secretsAwaitedUntil } from './secret-markers.ts';
import { type FailedRevision, isSame, revisionOf, type Target } from './target.ts';
import { running, type Templates, wantedTemplates } from './template-selection.ts';

/**
 * Selects the target.
 * - If the deployment is suspended, or has no image yet: the templates of the active revision (with no pods when
 * suspended), or nothing.
 * - Otherwise the stored templates of the desired revision and inputs. If no such templates are stored, the operator
 *   renders and stores them first. Therefore an operator that renders differently restarts nothing, and a revert finds
 *   the old templates.
 * - If these templates have failed: the stored templates of the active revision, unchanged, so that its ReplicaSets are
 *   used again. A later change of source_config applies to the active revision in place.
 * - While the digest of the image is looked up, or a referenced Secret may still be created: the current target.
 * - While the desired revision waits for its own database or cache: the active revision.
 */
export function selectTarget(observed: Observed, config: RenderConfig, now: Date): Target {
  const { resource } = observed;
  if (resource.spec.suspend || resource.spec.revision.image === undefined)
    return targetWithoutRollout(observed);
  const wanted = wantedTemplates(resource, observed, config);
  const failed =
    failureOf(observed, wanted) ??
    knownFailure(resource) ??
    specRefusal(resource, wanted, config, observed) ??
    missingImage(observed, wanted) ??
    missingSecrets(resource, observed, wanted);
  if (failed !== null) return afterFailure(observed, config, failed, now);
  const awaitedUntil = secretsAwaitedUntil(resource, observed, wanted);
  if (awaitedUntil !== null) return currentTarget(observed, awaitedUntil);
  return targetDuringLookup(observed, wanted) ?? gateRollout(observed, wanted, resource.spec.revision, now);
}

function targetWithoutRollout({ resource, storedTemplates }: Observed): Target {
  const { activeRevision } = resource.status ?? {};
  const active = storedTemplates.find(({ name }) => name === activeRevision?.templates);
  const revision = active === undefined || activeRevision === undefined ? null : revisionOf(activeRevision);
  const failed = standingFailure(resource);
  const failure = failed && { failed, failedChange: resource.status?.failedChange ?? null };
  const runs = { ...running(active), heldUntil: null, failure };
  if (resource.spec.suspend) return { ...runs, kind: 'off', revision };
  if (revision === null) return { ...runs, kind: 'no-revision', revision, untouched: false };
  return { ...runs, kind: 'active', revision, served: null, awaits: null, instead: null, untouched: false };
}

/**
 * The recorded failure of the desired revision. The failure is kept while the deployment is suspended. Without pods,
 * the templates differ (in the share of database connections) from those that are tried when the deployment runs again.
 */
function standingFailure(resource: ObservedResource): FailedRevision | null {
  const { failedRevision } = resource.status ?? {};
  return failedRevision !== undefined && isRevision(resource, failedRevision) ? failedRevision : null;
}

/**
 * The recorded failure, if it applies to the desired templates. A revision that was never active has failed with any
 * source_config; `redeploy` creates a new revision with the same content. A change in place has failed with any values of
 * its Secrets, because a changed value is not a change of source_config. The templates of a changed value, or of a
 * revision of a resource applied by hand, have failed only with exactly these values, so that the next change is tried. A
 * revision that is recorded as Refused but has stored templates was accepted before, so it is checked again.
 */
function failureOf(observed: Observed, { name, store }: Templates): FailedRevision | null {
  const { resource } = observed;
  const { failedRevision: failed, activeRevision } = resource.status ?? {};
  if (failed === undefined || !isRevision(resource, failed)) return null;
  if (failed.reason === 'Refused' && failed.templates === undefined && store === null) return null;
  if (failed.templates === name) return failed;
  if (failed.id === undefined) return null;
  const inPlace = activeRevision !== undefined && isRevision(resource, activeRevision);
  return !inPlace || isFailedChange(observed, failed) ? failed : null;
}

/** Whether the change of source_config that the spec contains has failed in its rollout, whatever its Secrets contained. */
function isFailedChange({ resource, storedTemplates }: Observed, { templates }: FailedRevision): boolean {
  const tried = storedTemplates.find(({ name }) => name === templates);
  const active = storedTemplates.find(({ name }) => name === resource.status?.activeRevision?.templates);
  if (tried === undefined || !isTemplateInputsHash(resource, tried.inputsHash)) return false;
  // Only the values of Secrets had changed.
  return active === undefined || !hasSameInputs(tried, active);
}

/**
 * The failure that the hub has recorded, if the status has no failure, so that the failed revision is not tried a
 * second time.
 */
function knownFailure({ spec, status }: ObservedResource): FailedRevision | null {
  const { failed, revision, recordGeneration } = spec;
  if (failed === undefined || status?.activeRevision !== undefined || status?.failedRevision !== undefined)
    return null;
  const { reason, message } = failed;
  const { id, number } = revision;
  return { ...(id === undefined ? { number } : { id, number }), reason, message, recordGeneration };
}

function isRevision(resource: ObservedResource, revision: { id?: string; number: number }): boolean {
  return isSame(resource.spec.revision, revision);
}
