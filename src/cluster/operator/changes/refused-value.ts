import type { KubeObject } from '../../kube/client/object.ts';

/**
 * Distinguishes two kinds of validation errors: errors of a value that Berth sent, and errors of a value that an
 * admission policy or webhook set.
 */

/** A cause in a Status with code 422. */
interface Cause {
  readonly field: string;
  readonly message: string;
}

/**
 * Kubernetes prints the invalid value: `Invalid value: 0: must be …`, `Unsupported value: "x": supported …`.
 */
const REFUSED_VALUE = /^(?:Invalid|Unsupported|Duplicate) value: (?<rest>.*)$/s;
const MISSING = /^Required value\b/;

/** Only scalars can be compared, because objects and lists have no comparable text, and long texts are shortened. */
const SCALAR = /^(?:"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false)(?=:|$)/;

/** Fields whose value the API server normalizes. */
const QUANTITY = /resources|storage|sizeLimit|divisor|averageValue|capacity/;

/**
 * Whether the rejected value differs from the sent value. Only certain differences count, not different spellings.
 * @param object the sent object
 */
export function isOtherValue(object: KubeObject, { field, message }: Cause): boolean {
  if (isSelector(field, message)) return true;
  const sent = valueAt(object, field);
  if (MISSING.test(message)) return sent !== undefined && sent !== null && sent !== '';
  const printed = SCALAR.exec(REFUSED_VALUE.exec(message)?.groups?.['rest'] ?? '')?.[0];
  if (printed === undefined || QUANTITY.test(field)) return false;
  // The API server sets no invalid default in a pod template, and allocates no values there.
  if (sent === undefined) return field.startsWith('spec.template.');
  const refused: unknown = JSON.parse(printed);
  return typeof sent === typeof refused && sent !== refused;
}

/**
 * A selector that Berth applies matches its template. If the live selector differs, the operator plans another action.
 * Therefore a rejected selector is not the sent selector.
 */
function isSelector(field: string, message: string): boolean {
  return (
    (field === 'spec.selector' && /immutable/i.test(message)) ||
    (field === 'spec.template.metadata.labels' && /does not match template/i.test(message))
  );
}

/** The value at a path such as `spec.ports[0].port` or `metadata.labels[app]`; undefined: none. */
function valueAt(object: unknown, path: string): unknown {
  const steps = [...path.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([step, key]) => key ?? step);
  return steps.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined,
    object,
  );
}
