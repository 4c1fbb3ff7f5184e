import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { asOfRevision } from '../../../workloads/as-of-revision.ts';
import { unsupportedByCluster } from '../../../workloads/cluster-support.ts';
import { isTemplateInputsHash, templateInputsHash } from '../../../workloads/template-inputs.ts';
import { serviceOf } from '../access/service-spec-policy.ts';
import { isKept } from '../access/spec-policy.ts';
import type { ActiveRevision, Observed, ObservedResource, ObservedTemplates } from '../observed.ts';
import { shortened } from '../status/conditions.ts';
import { towards } from './rollout-gate.ts';
import { type FailedRevision, isSame, PLAIN, revisionOf, type Target } from './target.ts';
import { newestFirst, running, type Templates, wantedTemplates } from './template-selection.ts';

/** What runs when what is wanted has failed. */
export function afterFailure(
  observed: Observed,
  config: RenderConfig,
  failed: FailedRevision,
  now: Date,
): Target {
  const { resource, storedTemplates } = observed;
  const storedAs = (name: string | undefined) => storedTemplates.find((stored) => stored.name === name);
  const tried = storedAs(failed.templates);
  const active = resource.status?.activeRevision ?? tried?.former() ?? activeByRecord(observed);
  const former = storedAs(active?.templates);
  if (active !== null && former !== undefined) {
    const revision = revisionOf(active);
    const noted = withInputs(failed, resource, tried, former.name);
    const ran = running(former);
    const back: Target = { ...PLAIN, ...ran, kind: 'restored', revision, failed: noted, served: active };
    return changedSince(observed, config, { back, failed: noted, former }, now);
  }
  // Somebody may have deleted what was stored of the active revision: what runs of it is left alone.
  const untouched = resource.status?.activeRevision !== undefined;
  return { ...PLAIN, ...running(tried), kind: 'inspection', revision: revisionOf(failed), failed, untouched };
}

interface Failed {
  /** The way back to what served. */
  readonly back: Target;
  readonly failed: FailedRevision;
  readonly former: ObservedTemplates;
}

/**
 * The failure with what later changes are held against. It stands in the record of the failure: of what was refused before
 * anything of it was begun no templates are stored, and others may be deleted by hand.
 * @param tried templates that failed; undefined: they are not stored
 * @param serving name of those that served; undefined: none did
 */
export function withInputs(
  failed: FailedRevision,
  resource: ObservedResource,
  tried: ObservedTemplates | undefined,
  serving: string | undefined,
): FailedRevision {
  if (failed.inputsHash !== undefined) return failed;
  const isOfNow = failed.generation === resource.spec.generation;
  const inputsHash = tried?.inputsHash ?? (isOfNow ? templateInputsHash(resource) : undefined);
  if (inputsHash === undefined) return failed;
  const served = tried?.former()?.templates ?? serving;
  return { ...failed, inputsHash, ...(served === undefined ? {} : { serving: served }) };
}

/**
 * A revision has failed and the former one serves. The source_config that came with it has failed with it. Each later
 * change applies to what serves, in place; its own failure returns to what served before.
 */
function changedSince(
  observed: Observed,
  config: RenderConfig,
  { back, failed, former }: Failed,
  now: Date,
): Target {
  const { resource } = observed;
  const { activeRevision, failedChange } = resource.status ?? {};
  if (activeRevision === undefined || failed.id === undefined || isSame(activeRevision, failed)) return back;
  const view = asOfRevision(resource, activeRevision, former.templates(), former.image()?.given);
  if (!isChangedSince(resource, failed)) {
    return { ...back, held: !isTemplateInputsHash(view, former.inputsHash) };
  }
  const wanted = wantedTemplates(view, observed, config);
  if (wanted.name === former.name) return back;
  const refused = refusal(view, wanted, config, observed);
  if (refused !== null) return { ...back, failedChange: refused };
  if (failedChange?.templates === wanted.name) return { ...back, failedChange };
  return { ...towards(observed, wanted, activeRevision, now), instead: failed };
}

/**
 * Other templates come of the spec now than those that failed, or what serves was changed already since then. Other
 * numbers of pods are no such change.
 */
function isChangedSince(
  resource: ObservedResource,
  { inputsHash, serving, generation }: FailedRevision,
): boolean {
  // As an earlier version has recorded it.
  if (inputsHash === undefined) return resource.spec.generation !== generation;
  return (
    !isTemplateInputsHash(resource, inputsHash) ||
    (serving !== undefined && serving !== resource.status?.activeRevision?.templates)
  );
}

/**
 * What was active by the hub's record. A custom resource that was lost and made again has no status: which of the
 * revision's templates it was stands with those that were tried after it; without these, the newest of them.
 */
function activeByRecord({ resource: { spec }, storedTemplates }: Observed): ActiveRevision | null {
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
  'it is new to this cluster, and the policy of its operator (BERTH_POLICY) does not let it: change it, or have the policy widened';

/**
 * What this cluster is too old for fails before anything of it is sent: the API server would refuse it, or drop fields. So
 * does what may not be. What was begun once goes on, for its templates are stored, which those of nothing refused are: so
 * neither a narrower policy nor a custom resource that is lost turns back or ends what runs.
 */
export function refusal(
  resource: ObservedResource,
  wanted: Templates,
  config: RenderConfig,
  { forbidden = [], storedTemplates }: Observed,
): FailedRevision | null {
  if (wanted.name === null || wanted.store === null) return null;
  const unsupported = unsupportedByCluster(resource, config);
  const ofRevision = forbidden.filter((each) => serviceOf(each) === null);
  const barred =
    ofRevision.length > 0 && isKept(resource, storedTemplates)
      ? ofRevision.filter(({ ofPodTemplate }) => !ofPodTemplate)
      : ofRevision;
  const refused = [...barred, ...unsupported];
  if (refused.length === 0) return null;
  const { id, number } = resource.spec.revision;
  const why = shortened(refused.map(({ resourcePath, message }) => `${resourcePath}: ${message}`).join('; '));
  const isOfPolicy = unsupported.length === 0 && barred.every(({ byPolicy = false }) => byPolicy);
  const remedy = isOfPolicy ? POLICY_REMEDY : 'change it';
  // Without templates, which were never stored: the next ones may get their name.
  return {
    ...(id === undefined ? { number } : { id, number }),
    reason: 'Refused',
    message: `${why}; ${remedy}${id === undefined ? '' : ', then redeploy'}`,
    generation: resource.spec.generation,
  };
}
