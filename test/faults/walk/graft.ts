/** Changes a part of a JSON value: replaces it by the same part of another value with the same schema, or removes it. */
import type { Random } from './random.ts';

type Json = unknown;
type JsonMap = Readonly<Record<string, Json>>;

const ACTIONS = [
  'add',
  'remove',
  'replace',
  'swap',
  'retype',
  'retype',
  'inside',
  'inside',
  'inside',
] as const;

function isMap(value: Json): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function without(map: JsonMap, name: string): JsonMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => key !== name));
}

/** Replaces the content of an entry and keeps its name, for example by a volume of another kind. */
function retype(item: Json, given: Json): Json {
  return isMap(item) && isMap(given) && 'name' in item ? { ...given, name: item['name'] } : given;
}

function graftIntoList(current: readonly Json[], donor: readonly Json[], random: Random): Json[] {
  const into = random.below(Math.max(1, current.length));
  const action = random.pick(ACTIONS);
  const given = donor.length === 0 ? undefined : random.pick(donor);
  if (action === 'remove' && current.length > 0) return current.filter((_, index) => index !== into);
  if (action === 'swap' && current.length > 1) return [...current.slice(1), ...current.slice(0, 1)];
  if (given === undefined) return [...current];
  if (action === 'add' || current.length === 0) return [...current, given];
  return current.map((item, index) => {
    if (index !== into) return item;
    if (action === 'retype') return retype(item, given);
    return action === 'replace' ? given : graft(item, given, random);
  });
}

function graftIntoMap(current: JsonMap, donor: JsonMap, random: Random): JsonMap {
  const names = [...new Set([...Object.keys(current), ...Object.keys(donor)])];
  if (names.length === 0) return current;
  const name = random.pick(names);
  const [mine, theirs] = [current[name], donor[name]];
  if (theirs === undefined || (mine !== undefined && random.chance(0.25))) return without(current, name);
  if (mine === undefined || random.chance(0.3)) return { ...current, [name]: theirs };
  return { ...current, [name]: graft(mine, theirs, random) };
}

/** `current` with one part replaced by that of `donor`. The result may be invalid. */
export function graft(current: Json, donor: Json, random: Random): Json {
  if (Array.isArray(current) && Array.isArray(donor)) return graftIntoList(current, donor, random);
  if (isMap(current) && isMap(donor)) return graftIntoMap(current, donor, random);
  return donor;
}
