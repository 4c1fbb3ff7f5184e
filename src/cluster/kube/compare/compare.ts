import { contentHash } from '../../../domain/core/hash.ts';
import { isObject } from '../../../domain/core/is-object.ts';
import { parseQuantity } from '../../../domain/kubernetes/quantity.ts';
import type { KubeObject } from '../client/object.ts';
import {
  DROPPED_WHEN_ZERO,
  isQuantity,
  mergeKeysOf,
  mergeKeyText,
  ORDERED_LISTS,
  PLAIN_MAPS,
  SERVER_METADATA,
  SET_LISTS,
  SHOWN_FIELDS,
} from './compare-rules.ts';
import { entryOf, inside, isMetadata, type Place, pathOf, wholeObject } from './field-path.ts';

/**
 * Implements the rule "no write when nothing changed".
 * An object needs a write when the desired state changed, or when another writer changed a field that Berth set:
 * - An annotation of the live object contains the hash of the desired object. Only the hash shows that a field, list
 *   item or label was removed from the desired state. Server-side apply then removes the field, because Berth owned it.
 * - `subsetDiff` finds drift: every desired field must have its value in the live object. Fields that others added (a
 *   label, an environment variable, a sidecar) are not a difference: server-side apply would keep them, so Berth would
 *   write forever.
 * - Entries added to a list that is replaced as a whole (args, rules …), and keys added to a selector, are drift, and
 *   an apply removes them.
 */
export interface Difference {
  /** e.g. `spec.template.spec.containers[name=app].image`. */
  path: string;
  /** The explanation for logs. The explanation contains a value only if the value cannot be secret. */
  why: string;
  /** The desired value; undefined: none. The value may be secret, so it is not enumerable, and no logger prints it. */
  readonly wanted?: unknown;
  /** The live value. Like `desired`, the value is not enumerable. */
  readonly present?: unknown;
}

/** Creates a difference. The values of the difference serve decisions and are not displayed. */
export function differenceOf(path: string, why: string, wanted: unknown, present: unknown): Difference {
  return Object.defineProperties({ path, why }, { wanted: { value: wanted }, present: { value: present } });
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Why `desired` must be applied over `live`; empty: no write needed. `annotation` contains the hash of the applied
 * object.
 */
export function whyApply(desired: KubeObject, live: KubeObject, annotation: string): Difference[] {
  const drift = subsetDiff(desired, live);
  if (live.metadata.annotations?.[annotation] === desiredHash(desired, annotation)) return drift;
  const noted = live.metadata.annotations?.[annotation];
  const path = `metadata.annotations[${annotation}]`;
  return [differenceOf(path, 'desired state changed', undefined, noted), ...drift];
}

/** A copy of `desired` with its own hash as an annotation. */
export function withHash<T extends KubeObject>(desired: T, annotation: string): T {
  const annotations = { ...desired.metadata.annotations, [annotation]: desiredHash(desired, annotation) };
  return { ...desired, metadata: { ...desired.metadata, annotations } };
}

/**
 * Content hash (16 hex digits) of a desired object, independent of the order of keys. The hash excludes the server's
 * metadata, preconditions (uid, resourceVersion), and the annotation with the hash.
 */
export function desiredHash(desired: KubeObject, annotation?: string): string {
  const metadata = Object.fromEntries(
    Object.entries(desired.metadata).filter(
      ([field]) => !SERVER_METADATA.has(field) && field !== 'annotations',
    ),
  );
  const annotations = Object.entries(desired.metadata.annotations ?? {}).filter(
    ([name]) => name !== annotation,
  );
  const content = { ...desired, metadata: { ...metadata, annotations: Object.fromEntries(annotations) } };
  return contentHash(content);
}

/** Differences between the live object and the desired fields; empty: no drift. */
export function subsetDiff(desired: object, live: object): Difference[] {
  const found: Difference[] = [];
  const isSecret = (desired as Partial<KubeObject>).kind === 'Secret';
  const { stringData, ...rest } = desired as { stringData?: Record<string, string>; data?: object };
  // stringData is write-only. The server stores its values in data.
  const wanted =
    isSecret && stringData ? { ...rest, data: { ...rest.data, ...encoded(stringData) } } : desired;
  diffFields(wanted as Fields, live as Fields, wholeObject(isSecret), found);
  return found;
}

function encoded(stringData: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
}

function diffFields(desired: Fields, live: Fields, place: Place, found: Difference[]): void {
  for (const field of Object.keys(desired)) {
    const wanted = desired[field];
    if (wanted === live[field] || (SERVER_METADATA.has(field) && isMetadata(place))) continue;
    diffValue(wanted, live[field], inside(place, field), found);
  }
  if (!place.atomic) return;
  for (const [field, present] of Object.entries(live)) {
    if (desired[field] !== undefined || present === null || isAbsence(present, field)) continue;
    found.push(differenceOf(pathOf(inside(place, field)), 'is not in the desired state', undefined, present));
  }
}

function diffValue(desired: unknown, live: unknown, place: Place, found: Difference[]): void {
  if (desired === undefined || desired === null) return;
  if (live === undefined || live === null) {
    if (!isAbsence(desired, place.field))
      found.push(differenceOf(pathOf(place), 'is missing', desired, undefined));
  } else if (Array.isArray(desired)) {
    if (Array.isArray(live)) diffList(desired, live, place, found);
    else found.push(differenceOf(pathOf(place), 'is not a list', desired, live));
  } else if (isObject(desired)) {
    if (isObject(live)) diffFields(desired, live, place, found);
    else found.push(differenceOf(pathOf(place), 'is not an object', desired, live));
  } else if (!isSameScalar(desired, live, place)) {
    found.push(differenceOf(pathOf(place), describe(desired, live, place), desired, live));
  }
}

/** Values that the server stores as an absent field. */
function isAbsence(desired: unknown, field: string): boolean {
  if (desired === '') return true;
  if (desired === false || desired === 0) return DROPPED_WHEN_ZERO.has(field);
  if (Array.isArray(desired)) return desired.length === 0;
  if (!isObject(desired)) return false;
  const members = Object.entries(desired).filter(([, value]) => value !== undefined && value !== null);
  return PLAIN_MAPS.has(field) && members.length === 0;
}

function isSameScalar(desired: unknown, live: unknown, { parent, field }: Place): boolean {
  if (desired === live) return true;
  if (!isQuantity(parent, field)) return false;
  const wanted = parseQuantity(String(desired));
  return wanted !== null && wanted === parseQuantity(String(live));
}

function diffList(
  desired: readonly unknown[],
  live: readonly unknown[],
  place: Place,
  found: Difference[],
): void {
  if (SET_LISTS.has(place.field)) {
    for (const item of desired) {
      if (!live.includes(item))
        found.push(differenceOf(pathOf(place), `lacks ${String(item)}`, desired, live));
    }
    return;
  }
  const keys =
    desired.every(isObject) && live.every(isObject)
      ? mergeKeysOf(place.parent, place.field, [...desired, ...live])
      : undefined;
  if (keys === undefined) diffWholeList(desired, live, place, found);
  else diffMergedList(keys, desired as Fields[], live as Fields[], place, found);
}

function otherLength(desired: readonly unknown[], live: readonly unknown[], place: Place): Difference {
  const why = `has ${live.length} entries, should have ${desired.length}`;
  return differenceOf(pathOf(place), why, desired, live);
}

function diffWholeList(
  desired: readonly unknown[],
  live: readonly unknown[],
  place: Place,
  found: Difference[],
): void {
  if (desired.length !== live.length) {
    found.push(otherLength(desired, live, place));
    return;
  }
  for (const [index, item] of desired.entries()) {
    diffValue(item, live[index], entryOf(place, String(index)), found);
  }
}

function diffMergedList(
  keys: readonly string[],
  desired: readonly Fields[],
  live: readonly Fields[],
  place: Place,
  found: Difference[],
): void {
  if (place.atomic && live.length > desired.length) found.push(otherLength(desired, live, place));
  const positions = new Map(live.map((item, index) => [mergeKeyText(keys, item), index]));
  let last = -1;
  for (const item of desired) {
    const key = mergeKeyText(keys, item);
    const position = positions.get(key);
    const at = entryOf(place, key);
    if (position === undefined) {
      found.push(differenceOf(pathOf(at), 'is missing', item, undefined));
      continue;
    }
    if (ORDERED_LISTS.has(place.field) && position < last)
      found.push(differenceOf(pathOf(at), 'is out of order', undefined, position));
    last = Math.max(last, position);
    diffFields(item, live[position] ?? {}, at, found);
  }
}

function describe(desired: unknown, live: unknown, { field, secret }: Place): string {
  const open =
    !secret && (SHOWN_FIELDS.has(field) || typeof desired === 'number' || typeof desired === 'boolean');
  return open && !isObject(live) ? `is ${String(live)}, should be ${String(desired)}` : 'differs';
}
