import type { Hint } from './form-context.ts';
import type { Json } from './json.ts';
import type { Field, Kind } from './schema.ts';

/** The help text of a field: description, limits and default. */

const valueText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The range of a number. The policy may allow less than the schema. */
export function rangeText(kind: Kind, { maximum: policy }: Hint): string | null {
  if (kind.kind !== 'number') return null;
  const { minimum, maximum } = kind;
  if (policy !== undefined && (maximum === undefined || policy < maximum))
    return `${minimum ?? 0} to ${policy}, the maximum of the policy.`;
  return minimum === undefined || maximum === undefined ? null : `${minimum} to ${maximum}.`;
}

/** What a form says about a field. */
export function helpText({ description, kind }: Field, hint: Hint): string {
  const { fallback } = hint;
  const unset = fallback == null ? null : `Default: ${valueText(fallback)}.`;
  return [description, rangeText(kind, hint), unset].filter((text) => text !== null).join(' ');
}
