import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { asOfRevision } from '../../../workloads/as-of-revision.ts';
import { unsupportedByCluster } from '../../../workloads/cluster-support.ts';
import {
  isTemplateInputsHash,
  templateInputsHash,
  writtenInputsHash,
} from '../../../workloads/template-inputs.ts';
import { withoutKept } from '../access/allowed-before.ts';
import { serviceOf } from '../access/service-spec-policy.ts';
import type { ActiveRevision, Observed, ObservedResource, ObservedTemplates } from '../observed.ts';
import { contentOf, hasSameInputs, newestFirst } from '../observed.ts';
import { isOfRelease } from '../releases/release-failure.ts';
import { shortened } from '../status/conditions.ts';
import { followValues, type Restored } from './changed-values.ts';
import { gateRollout } from './rollout-gate.ts';
import { forbiddenReferences, missingSecrets, secretMarker, secretsAwaitedUntil } from './secret-markers.ts';
import { type FailedRevision, isSame, type RestoredTarget, revisionOf, type Target } from './target.ts';
import { running, type Templates, wantedTemplates } from './template-selection.ts';

/** The target after the desired revision has failed. */
export function afterFailure(
  observed: Observed,
  config: RenderConfig,
  failed: FailedRevision,
  now: Date,
): Target {
  const { resource, storedTemplates } = observed;
  const storedAs = (name: string | undefined) => storedTemplates.find((stored) => stored.name === name);
  const tried = storedAs(failed.templates);
  const active = resource.status?.activeRevision ?? tried?.former() ?? activeByHub(observed);
  const former = storedAs(active?.templates);
  if (active !== null && former !== undefined) {
    const noted = withServing(withInputs(failed, resource, tried, former.name), former, observed);
    const back: RestoredTarget = {
      ...running(former),
      kind: 'restored',
      revision: revisionOf(active),
      failure: { failed: noted, failedChange: null },
      served: active,
      held: false,
      heldUntil: null,
    };
    const view = asOfRevision(resource, active, contentOf(former));
    const target = changedSince(observed, config, { back, view, former }, now);
    return target.kind === 'restored' ? followValues({ back: target, view, former }, observed, now) : target;
  }
  // The stored templates of the active revision may have been deleted. Without these templates, the running components
  // of the active revision are not changed.
  const untouched = resource.status?.activeRevision !== undefined;
  return {
    // A revision whose release command has failed never runs.
    ...running(isOfRelease(failed.reason) ? undefined : tried),
    kind: 'inspection',
    revision: revisionOf(failed),
    failure: { failed, failedChange: null },
    heldUntil: null,
    untouched,
  };
}

/**
 * The failure, after the templates that served were replaced only because values of their Secrets have changed. That is
 * not a change of the revision that serves.
 */
function withServing(
  failed: FailedRevision,
  former: ObservedTemplates,
  { storedTemplates }: Observed,
): FailedRevision {
  if (failed.serving === undefined || failed.serving === former.name) return failed;
  const before = storedTemplates.find(({ name }) => name === failed.serving);
  return before !== undefined && hasSameInputs(before, former) ? { ...failed, serving: former.name } : failed;
}

/**
 * Adds to the failure the values that later changes are compared with: the hash of its inputs and the templates that
 * served. The hash is recorded with the failure because stored templates may be missing. A spec that was rejected
 * before its rollout has no stored templates, and stored templates may have been deleted by hand.
 * @param tried templates that failed; undefined: they are not stored
 * @param serving name of the templates that served; undefined: no templates served
 */
export function withInputs(
  failed: FailedRevision,
  resource: ObservedResource,
  tried: ObservedTemplates | undefined,
  serving: string | undefined,
): FailedRevision {
  if (failed.inputsHash !== undefined) return failed;
  const isCurrent = failed.recordGeneration === resource.spec.recordGeneration;
  if (tried === undefined && !isCurrent) return failed;
  // An operator of the previous version compares inputsHash with the hash of the written inputs.
  const inputsHash = tried?.writtenInputsHash ?? writtenInputsHash(resource);
  const normal = tried?.inputsHash ?? templateInputsHash(resource);
  const served = tried?.former()?.templates ?? serving;
  return {
    ...failed,
    inputsHash,
    ...(normal === inputsHash ? {} : { normalInputsHash: normal }),
    ...(served === undefined ? {} : { serving: served }),
  };
}

/**
 * The target when a revision has failed and the former revision serves. The source_config of the failed revision has
 * failed with it. Each later change applies in place to the revision that serves. If that change also fails, the
 * operator returns to the templates that served before.
 */
function changedSince(
  observed: Observed,
  config: RenderConfig,
  { back, view, former }: Restored,
  now: Date,
): Target {
  const { resource } = observed;
  const { activeRevision, failedChange } = resource.status ?? {};
  const { failed } = back.failure;
  if (activeRevision === undefined || failed.id === undefined || isSame(activeRevision, failed)) return back;
  if (!isChangedSince(resource, failed)) {
    return { ...back, held: !isTemplateInputsHash(view, former.inputsHash) };
  }
  const wanted = wantedTemplates(view, observed, config);
  if (wanted.name === former.name) return back;
  const withChange = (change: FailedRevision): RestoredTarget => ({
    ...back,
    failure: { ...back.failure, failedChange: change },
  });
  const refused = specRefusal(view, wanted, config, observed) ?? missingSecrets(view, observed, wanted);
  if (refused !== null) return withChange(refused);
  if (secretsAwaitedUntil(view, observed, wanted) !== null) return back;
  // Templates without a marker would be replaced once more when the values are known.
  if (wanted.store !== null && secretMarker(view, observed) === undefined) return back;
  if (failedChange?.templates === wanted.name) return withChange(failedChange);
  return { ...gateRollout(observed, wanted, activeRevision, now), instead: failed };
}

/**
 * Whether the spec now renders other templates than those that failed, or the serving revision was changed since then.
 * A different number of pods does not count as a change of templates.
 */
function isChangedSince(
  resource: ObservedResource,
  { inputsHash, normalInputsHash, serving, recordGeneration }: FailedRevision,
): boolean {
  // A record of an earlier version of Berth has no hash.
  if (inputsHash === undefined) return resource.spec.recordGeneration !== recordGeneration;
  return (
    !isTemplateInputsHash(resource, inputsHash, normalInputsHash) ||
    (serving !== undefined && serving !== resource.status?.activeRevision?.templates)
  );
}

/**
 * The active revision according to the hub. A custom resource that was lost and created again has no status. The
 * templates that were tried later record which templates were active before them. Without a record of earlier
 * templates, the newest templates of the active revision are used.
 */
function activeByHub({ resource: { spec }, storedTemplates }: Observed): ActiveRevision | null {
  const active = spec.failed?.activeRevision;
  if (active === undefined) return null;
  const ofRevision = (number: number) =>
    newestFirst(storedTemplates.filter(({ revisionNumber }) => revisionNumber === number));
  const formers = ofRevision(spec.revision.number).map((tried) => tried.former());
  const known = formers.find((former) => former?.id === active.id && former?.number === active.number);
  if (known) return known;
  const [newest] = ofRevision(active.number);
  return newest === undefined ? null : { ...active, templates: newest.name };
}

const POLICY_REMEDY =
  'the policy of the operator of this cluster (BERTH_POLICY) does not allow this value in new specs: change the ' +
  'value, or ask the administrator of the platform to extend the policy';

/**
 * Rejects a spec that needs a newer cluster, or that the policy does not allow, before any object is sent, because the
 * API server would reject the object or drop fields. A rollout that has begun has stored templates and continues. A
 * rejected spec has no stored templates. Therefore neither a narrower policy nor the loss of the custom resource stops
 * running workloads.
 */
export function specRefusal(
  resource: ObservedResource,
  wanted: Templates,
  config: RenderConfig,
  observed: Observed,
): FailedRevision | null {
  if (wanted.name === null || wanted.store === null) return null;
  const { forbidden = [], storedTemplates } = observed;
  const unsupported = unsupportedByCluster(resource, config);
  const ofRevision = forbidden.filter((each) => serviceOf(each) === null);
  const barred = withoutKept(ofRevision, resource, storedTemplates);
  const references = forbiddenReferences(resource, observed);
  const refused = [...barred, ...references, ...unsupported];
  if (refused.length === 0) return null;
  const { id, number } = resource.spec.revision;
  const why = shortened(refused.map(({ resourcePath, message }) => `${resourcePath}: ${message}`).join('; '));
  const isOfPolicy =
    unsupported.length + references.length === 0 && barred.every(({ byPolicy = false }) => byPolicy);
  const remedy = isOfPolicy ? POLICY_REMEDY : 'change it';
  // The failure does not name templates, because they were never stored, and the next templates may get their name.
  return {
    ...(id === undefined ? { number } : { id, number }),
    reason: 'Refused',
    message: `${why}; ${remedy}${id === undefined ? '' : ', then redeploy'}`,
    recordGeneration: resource.spec.recordGeneration,
  };
}
