import { isObject, type Json, type JsonObject, type Path, sameJson } from '../form/json.ts';
import { type Field, memberOf } from '../form/schema.ts';

/** Changes of documents by two people, field by field. Entries of a list with names, such as secrets, are fields too. */

export interface DocumentChange {
  readonly path: Path;
  /** undefined: absent. */
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** Whether a list has entries that a name identifies. */
const isNamed = (field: Field | null): boolean =>
  field?.kind.kind === 'items' && memberOf(field.kind.item, 'name')?.isRequired === true;

const nameOf = (item: Json): string => String(isObject(item) ? item['name'] : item);

/** The entries of a list by name; null: the value is not such a list, or names repeat. */
function byName(value: Json | undefined, field: Field | null): ReadonlyMap<string, Json> | null {
  if (!isNamed(field) || (value !== undefined && !Array.isArray(value))) return null;
  const items = (value ?? []) as readonly Json[];
  const map = new Map(items.map((item) => [nameOf(item), item]));
  return map.size === items.length ? map : null;
}

/** The parts of two values that are compared one by one; null: they are compared as a whole. */
function partsOf(
  before: Json | undefined,
  after: Json | undefined,
  field: Field | null,
): readonly (readonly [string, Json | undefined, Json | undefined, Field | null])[] | null {
  const [old, next] = [byName(before, field), byName(after, field)];
  if (old !== null && next !== null)
    return [...new Set([...old.keys(), ...next.keys()])].map((name) => [
      name,
      old.get(name),
      next.get(name),
      null,
    ]);
  const isStruct = field?.kind.kind === 'struct';
  if (!isStruct || !(isObject(before) || isObject(after))) return null;
  const [one, other] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].map((name) => [
    name,
    one[name],
    other[name],
    memberOf(field, name),
  ]);
}

/** The fields in which two values differ. */
export function changesBetween(
  before: Json | undefined,
  after: Json | undefined,
  field: Field | null,
  path: Path = [],
): readonly DocumentChange[] {
  if (sameJson(before, after)) return [];
  const parts = partsOf(before, after, field);
  if (parts === null) return [{ path, before, after }];
  return parts.flatMap(([name, old, next, member]) => changesBetween(old, next, member, [...path, name]));
}

interface Versions<T> {
  /** What both started from. */
  readonly base: T;
  readonly mine: T;
  readonly theirs: T;
}

/** Keeps the order of one's own list, and adds what others added. */
function mergeNamed(
  { base, mine, theirs }: Versions<ReadonlyMap<string, Json>>,
  isList: boolean,
): Json | undefined {
  const kept = [...mine].flatMap(([name, item]) => {
    if (!sameJson(base.get(name), item)) return [item];
    const other = theirs.get(name);
    return other === undefined ? [] : [other];
  });
  const added = [...theirs].filter(([name]) => !base.has(name) && !mine.has(name)).map(([, item]) => item);
  const merged = [...kept, ...added];
  return merged.length > 0 || isList ? merged : undefined;
}

/** Applies one's own changes to what others have changed. A field that both changed gets one's own value. */
export function merged(
  { base, mine, theirs }: Versions<Json | undefined>,
  field: Field | null,
): Json | undefined {
  if (sameJson(base, mine)) return theirs;
  if (sameJson(base, theirs)) return mine;
  const named = [byName(base, field), byName(mine, field), byName(theirs, field)] as const;
  if (named[0] !== null && named[1] !== null && named[2] !== null)
    return mergeNamed({ base: named[0], mine: named[1], theirs: named[2] }, mine !== undefined);
  if (field?.kind.kind !== 'struct' || !isObject(mine) || !isObject(theirs)) return mine;
  const start: JsonObject = isObject(base) ? base : {};
  const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  const members = [...names].flatMap((name): [string, Json][] => {
    const versions = { base: start[name], mine: mine[name], theirs: theirs[name] };
    const value = merged(versions, memberOf(field, name));
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(members);
}

/** The fields that others changed since one began to edit, and whether one changed them too. */
export function othersChanges(
  { base, mine, theirs }: Versions<JsonObject>,
  field: Field,
): readonly (DocumentChange & { readonly isOwn: boolean })[] {
  const own = new Set(changesBetween(base, mine, field).map(({ path }) => JSON.stringify(path)));
  return changesBetween(base, theirs, field).map((change) => ({
    ...change,
    isOwn: own.has(JSON.stringify(change.path)),
  }));
}
