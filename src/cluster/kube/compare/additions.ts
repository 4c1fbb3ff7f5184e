import { isObject } from '../../../domain/core/is-object.ts';
import type { KubeObject } from '../client/object.ts';
import { mergeKeysOf, mergeKeyText, PLAIN_MAPS } from './compare-rules.ts';
import { entryOf, inside, type Place, pathOf, wholeObject } from './field-path.ts';

/**
 * Fields of a live object that the desired object does not contain. A subset comparison skips fields that are not
 * desired, and an apply does not remove them, because Berth does not own them.
 */
export interface Addition {
  /** `spec.template.spec.hostNetwork`, in the notation of a difference. */
  readonly path: string;
  /** The path without the keys of entries: `spec.template.spec.containers[].env[]`, `metadata.labels.*`. */
  readonly pattern: string;
  /** The path as names of fields and keys of entries. null: the field is in a list that is replaced as a whole. */
  readonly steps: readonly PathStep[] | null;
  readonly value: unknown;
  /** The live list entry (a container) that contains the field. */
  readonly entry: Fields | undefined;
}

export type PathStep = string | Fields;
type Fields = Readonly<Record<string, unknown>>;

/**
 * The added fields that are reported, by pattern. `fields`, `entries`: report the members, not the whole value. A
 * function returns whether the value is a default of the API server. Fields without a rule are ignored. Fields without
 * a rule are the fields of the status, and fields of later Kubernetes versions.
 */
export type AdditionRules = Readonly<Record<string, AdditionRule>>;
export type AdditionRule = 'fields' | 'entries' | ((found: FoundValue) => boolean);
export interface FoundValue {
  readonly value: unknown;
  readonly field: string;
  readonly entry: Fields | undefined;
}

interface Here {
  readonly place: Place;
  readonly pattern: string;
  readonly steps: readonly PathStep[] | null;
  readonly entry: Fields | undefined;
}

interface Search {
  readonly rules: AdditionRules;
  readonly found: Addition[];
}

/** The fields of the live object that the desired object does not contain, except the defaults of the API server. */
export function additionsTo(desired: KubeObject, live: KubeObject, rules: AdditionRules): Addition[] {
  const found: Addition[] = [];
  const here: Here = { place: wholeObject(false), pattern: '', steps: [], entry: undefined };
  walk(desired as unknown as Fields, live as unknown as Fields, here, { rules, found });
  return found;
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;
const isEmpty = (value: unknown): boolean => value === '' || (Array.isArray(value) && value.length === 0);

function within(here: Here, field: string): Here {
  const { place, pattern, steps, entry } = here;
  const step = PLAIN_MAPS.has(place.field) ? '*' : field;
  return {
    place: inside(place, field),
    pattern: pattern === '' ? step : `${pattern}.${step}`,
    steps: steps && [...steps, field],
    entry,
  };
}

function atEntry(here: Here, key: string, step: Fields | null, entry: unknown): Here {
  // Init containers have the same fields as containers.
  const pattern = `${here.pattern.replace(/initContainers$/, 'containers')}[]`;
  const steps = here.steps && step && [...here.steps, step];
  return {
    place: entryOf(here.place, key),
    pattern,
    steps,
    entry: isContainerList(pattern) && isObject(entry) ? entry : here.entry,
  };
}

const isContainerList = (pattern: string) => pattern.endsWith('.containers[]');

function walk(desired: Fields, live: Fields, here: Here, search: Search): void {
  // Below an atomic field, every added field is already a difference.
  if (here.place.atomic) return;
  for (const [field, value] of Object.entries(live)) {
    if (isAbsent(value)) continue;
    const wanted = desired[field];
    const at = within(here, field);
    if (isAbsent(wanted)) judge(value, at, search);
    else if (Array.isArray(wanted) && Array.isArray(value)) walkList(wanted, value, at, search);
    else if (isObject(wanted) && isObject(value)) walk(wanted, value, at, search);
  }
}

function walkList(desired: readonly unknown[], live: readonly unknown[], here: Here, search: Search): void {
  const { place } = here;
  if (place.atomic) return;
  const keys = keysOf(place, [...desired, ...live]);
  if (keys === undefined) {
    if (desired.length !== live.length) return;
    for (const [index, item] of live.entries()) {
      const wanted = desired[index];
      if (isObject(wanted) && isObject(item))
        walk(wanted, item, atEntry(here, String(index), null, item), search);
    }
    return;
  }
  const wantedByKey = new Map((desired as Fields[]).map((item) => [mergeKeyText(keys, item), item]));
  for (const item of live as Fields[]) {
    const key = mergeKeyText(keys, item);
    const at = atEntry(here, key, picked(keys, item), item);
    const wanted = wantedByKey.get(key);
    if (wanted === undefined) judge(item, at, search);
    else walk(wanted, item, at, search);
  }
}

function keysOf({ parent, field }: Place, items: readonly unknown[]): readonly string[] | undefined {
  return items.every(isObject) ? mergeKeysOf(parent, field, items) : undefined;
}

const picked = (keys: readonly string[], item: Fields): Fields =>
  Object.fromEntries(keys.flatMap((key) => (item[key] === undefined ? [] : [[key, item[key]]])));

/** Judges a value that the desired object does not contain. */
function judge(value: unknown, here: Here, search: Search): void {
  const { place, pattern, steps, entry } = here;
  const rule = Object.hasOwn(search.rules, pattern) ? search.rules[pattern] : undefined;
  if (rule === undefined || isEmpty(value)) return;
  if (rule === 'fields' && isObject(value)) walk({}, value, here, search);
  else if (rule === 'entries' && Array.isArray(value)) walkList([], value, here, search);
  else if (typeof rule !== 'function' || !rule({ value, field: place.field, entry }))
    search.found.push({ path: pathOf(place), pattern, steps, value, entry });
}
