import type { FieldError } from '../api/problem.ts';
import type { JsonObject } from '../form/json.ts';
import { fromYaml, toYaml, type YamlError } from '../form/yaml.ts';

/** What someone has typed, in a form or as YAML. */
export type Draft =
  | { readonly kind: 'form'; readonly document: JsonObject }
  | { readonly kind: 'yaml'; readonly text: string };

export type ReadDraft = { readonly document: JsonObject } | { readonly errors: readonly YamlError[] };

export const readDraft = (draft: Draft): ReadDraft => (draft.kind === 'form' ? draft : fromYaml(draft.text));

/** The document of a draft; null: its text is not valid YAML. */
export function documentOfDraft(draft: Draft): JsonObject | null {
  const read = readDraft(draft);
  return 'document' in read ? read.document : null;
}

/** A draft of the same kind with another document. */
export const draftOf = (document: JsonObject, kind: Draft['kind']): Draft =>
  kind === 'form' ? { kind, document } : { kind, text: toYaml(document) };

/** An error of a field, with its line in a text. */
export interface PlacedError extends FieldError {
  readonly line: number | null;
}

/** Errors of the API, placed in what was typed. */
export function placed(draft: Draft, errors: readonly FieldError[]): readonly PlacedError[] {
  if (draft.kind === 'form') return errors.map((error) => ({ ...error, line: null }));
  const parsed = fromYaml(draft.text);
  return errors.map((error) => ({
    ...error,
    line: 'lineOf' in parsed ? parsed.lineOf(error.path) : null,
  }));
}
