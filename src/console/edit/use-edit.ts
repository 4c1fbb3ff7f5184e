import { useMemo, useState } from 'react';
import type { Deployment } from '../api/types.ts';
import type { JsonObject } from '../form/json.ts';
import { sameJson } from '../form/json.ts';
import type { Field } from '../form/schema.ts';
import { documentOf } from './document.ts';
import { type Draft, documentOfDraft, draftOf } from './draft.ts';
import { merged, othersChanges } from './merge.ts';

/**
 * The edit of a deployment that others may change meanwhile. Without own changes, it follows the deployment.
 * @param live the deployment as it is now
 */
export function useEdit(live: Deployment, field: Field) {
  const [base, setBase] = useState(live);
  const [draft, setDraft] = useState<Draft>(() => draftOf(documentOf(live), 'form'));
  const before = useMemo(() => documentOf(base), [base]);
  const document = useMemo(() => documentOfDraft(draft), [draft]);
  const isDirty = document === null || !sameJson(document, before);
  const isOutdated = live.generation > base.generation;

  const restart = (next: JsonObject) => {
    setBase(live);
    setDraft(draftOf(next, draft.kind));
  };
  if (isOutdated && !isDirty) restart(documentOf(live));

  const versions = document === null ? null : { base: before, mine: document, theirs: documentOf(live) };
  return {
    base,
    before,
    draft,
    setDraft,
    /** null: the text is not valid YAML. */
    document,
    isDirty,
    isOutdated: isOutdated && isDirty,
    changesOfOthers: () =>
      othersChanges(versions ?? { base: before, mine: before, theirs: documentOf(live) }, field),
    continueOnNewest: versions === null ? null : () => restart((merged(versions, field) ?? {}) as JsonObject),
    discard: () => restart(documentOf(live)),
  };
}

export type Edit = ReturnType<typeof useEdit>;
