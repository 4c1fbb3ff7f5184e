import type { KubeObject } from '../client/object.ts';
import { mergeKeysOf, mergeKeyText, PLAIN_MAPS } from './compare-rules.ts';
import { entryOf, inside, type Place, pathOf, wholeObject } from './field-path.ts';

/**
 * Fields of a live object that what we apply says nothing of. A subset comparison passes over them, and an apply does not
 * remove them, because it does not own them.
 */
export interface Addition {
  /** `spec.template.spec.hostNetwork`, as a difference has it. */
  readonly path: string;
  /** The path without what tells entries apart: `spec.template.spec.containers[].env[]`, `metadata.labels.*`. */
  readonly pattern: string;
  /** The way to the field: names of fields, and the keys of entries. Null: it lies in a list that is replaced whole. */
  readonly steps: readonly Step[] | null;
  readonly value: unknown;
  /** The entry of a list that the field belongs to (a container), as it is live. */
  readonly entry: Fields | undefined;
}

export type Step = string | Fields;
type Fields = Readonly<Record<string, unknown>>;

/**
 * Which added fields are noticed, by pattern.
 * `fields`, `entries`: the members count, not the whole. A function says whether the value is what the API server fills in.
 * Fields without a rule are passed over: those of the status, and those that a later Kubernetes has.
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
  readonly steps: readonly Step[] | null;
  readonly entry: Fields | undefined;
}

interface Search {
  readonly rules: AdditionRules;
  readonly found: Addition[];
}

/** What is in the live object beside what we apply, but for what the API server fills in. */
export function additionsTo(desired: KubeObject, live: KubeObject, rules: AdditionRules): Addition[] {
  const found: Addition[] = [];
  const here: Here = { place: wholeObject(false), pattern: '', steps: [], entry: undefined };
  walk(desired as unknown as Fields, live as unknown as Fields, here, { rules, found });
  return found;
}

const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

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
  // Init containers have the fields of containers.
  const pattern = `${here.pattern.replace(/initContainers$/, 'containers')}[]`;
  const steps = here.steps && step && [...here.steps, step];
  return {
    place: entryOf(here.place, key),
    pattern,
    steps,
    entry: isContainerList(pattern) && isFields(entry) ? entry : here.entry,
  };
}

const isContainerList = (pattern: string) => pattern.endsWith('.containers[]');

function walk(desired: Fields, live: Fields, here: Here, search: Search): void {
  // There, everything added is a difference already.
  if (here.place.atomic) return;
  for (const [field, value] of Object.entries(live)) {
    if (isAbsent(value)) continue;
    const wanted = desired[field];
    const at = within(here, field);
    if (isAbsent(wanted)) judge(value, at, search);
    else if (Array.isArray(wanted) && Array.isArray(value)) walkList(wanted, value, at, search);
    else if (isFields(wanted) && isFields(value)) walk(wanted, value, at, search);
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
      if (isFields(wanted) && isFields(item))
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
  return items.every(isFields) ? mergeKeysOf(parent, field, items) : undefined;
}

const picked = (keys: readonly string[], item: Fields): Fields =>
  Object.fromEntries(keys.flatMap((key) => (item[key] === undefined ? [] : [[key, item[key]]])));

/** A value that we say nothing of. */
function judge(value: unknown, here: Here, search: Search): void {
  const { place, pattern, steps, entry } = here;
  const rule = Object.hasOwn(search.rules, pattern) ? search.rules[pattern] : undefined;
  if (rule === undefined || isEmpty(value)) return;
  if (rule === 'fields' && isFields(value)) walk({}, value, here, search);
  else if (rule === 'entries' && Array.isArray(value)) walkList([], value, here, search);
  else if (typeof rule !== 'function' || !rule({ value, field: place.field, entry }))
    search.found.push({ path: pathOf(place), pattern, steps, value, entry });
}
