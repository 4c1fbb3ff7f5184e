import type { KubeObject } from '../../kube/client/object.ts';

/** Whether the API server refuses a value that was sent, or one that an admission policy or webhook has put there. */

/** A cause of a Status with code 422. */
interface Cause {
  readonly field: string;
  readonly message: string;
}

/** Kubernetes prints the value that it refuses: `Invalid value: 0: must be …`, `Unsupported value: "x": supported …`. */
const REFUSED_VALUE = /^(?:Invalid|Unsupported|Duplicate) value: (?<rest>.*)$/s;
const MISSING = /^Required value\b/;

/** An object or list has no text that can be compared, and the API server shortens long texts. */
const SCALAR = /^(?:"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false)(?=:|$)/;

/** Fields whose value the API server prints in its own spelling. */
const QUANTITY = /resources|storage|sizeLimit|divisor|averageValue|capacity/;

/**
 * Only differences that are certain count: a value that the API server prints differently is not one.
 * @param object as it was sent
 */
export function isOtherValue(object: KubeObject, { field, message }: Cause): boolean {
  if (isSelector(field, message)) return true;
  const sent = valueAt(object, field);
  if (MISSING.test(message)) return sent !== undefined && sent !== null && sent !== '';
  const printed = SCALAR.exec(REFUSED_VALUE.exec(message)?.groups?.['rest'] ?? '')?.[0];
  if (printed === undefined || QUANTITY.test(field)) return false;
  // The API server adds no invalid values to a pod template, and allocates none there.
  if (sent === undefined) return field.startsWith('spec.template.');
  const refused: unknown = JSON.parse(printed);
  return typeof sent === typeof refused && sent !== refused;
}

/**
 * A selector that Berth applies matches its template, and where the live one differs, another action is planned. So a
 * selector that is refused is not the one that was sent.
 */
function isSelector(field: string, message: string): boolean {
  return (
    (field === 'spec.selector' && /immutable/i.test(message)) ||
    (field === 'spec.template.metadata.labels' && /does not match template/i.test(message))
  );
}

/** What stands at a path such as `spec.ports[0].port` or `metadata.labels[app]`; undefined: nothing. */
function valueAt(object: unknown, path: string): unknown {
  const steps = [...path.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([step, key]) => key ?? step);
  return steps.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined,
    object,
  );
}
