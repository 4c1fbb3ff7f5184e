import { markTemplates, storedCopy } from '../../../workloads/stored-templates.ts';
import type { Observed, ObservedResource, ObservedTemplates } from '../observed.ts';
import { hasSameInputs, newestFirst } from '../observed.ts';
import { gateRollout } from './rollout-gate.ts';
import { hasSecretMarker, secretMarker, withSecretMarker } from './secret-markers.ts';
import type { RestoredTarget, Target } from './target.ts';
import { freeAttempt, running, type Templates } from './template-selection.ts';

export interface Restored {
  readonly back: RestoredTarget;
  /** The active revision as a resource. */
  readonly view: ObservedResource;
  /** The templates of the active revision. */
  readonly former: ObservedTemplates;
}

/**
 * The target when a value of a referenced Secret has changed while the active revision is restored: the same templates
 * with another marker. They are not rendered from the spec, because the source_config of the spec may have failed. The
 * templates of a change that has failed are not tried again. Then the restored revision remains.
 */
export function followValues({ back, view, former }: Restored, observed: Observed, now: Date): Target {
  const marker = secretMarker(view, observed);
  if (view.status?.activeRevision === undefined) return back;
  if (marker == null || hasSecretMarker(former, marker)) return back;
  const wanted = withMarker(former, marker, view, observed);
  const { failed, failedChange } = back.failure;
  if (failed.templates === wanted.name) return back;
  const known = view.status?.failedChange;
  if (known?.templates === wanted.name) return { ...back, failure: { failed, failedChange: known } };
  // The status has room for one failed change. Without its record, a failed change of source_config would be tried again.
  if (failedChange?.templates !== undefined) return back;
  const target = gateRollout(observed, wanted, back.served, now);
  const isOfValues = target.kind === 'rollout' && target.name === wanted.name;
  return { ...target, instead: failed, ...(isOfValues ? { standing: back.failure } : {}) };
}

/** The stored templates with the same inputs as `former` and this marker, or a copy of `former` with it. */
function withMarker(
  former: ObservedTemplates,
  marker: string,
  view: ObservedResource,
  { storedTemplates: all }: Observed,
): Templates & { readonly name: string } {
  const fitting = all.filter((stored) => hasSameInputs(stored, former) && hasSecretMarker(stored, marker));
  const [stored] = newestFirst(fitting);
  if (stored !== undefined) return { ...running(stored), name: stored.name };
  const templates = markTemplates(withSecretMarker(former.templates(), marker));
  const store = storedCopy(view, former, templates, freeAttempt(view, all));
  return { name: store.metadata.name, templates, store };
}
