/** Values of JSON, and paths in them. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export type Path = readonly (string | number)[];

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether two values are equal. The order of members does not matter. */
export function sameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, index) => sameJson(value, other[index]));
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && sameJson(one[name], other[name]))
  );
}

/** The object with a member; undefined removes it. */
export function withMember(object: JsonObject, name: string, value: Json | undefined): JsonObject {
  if (value !== undefined) return { ...object, [name]: value };
  const { [name]: _removed, ...rest } = object;
  return rest;
}

/** The list with another item; undefined removes it. */
export const withItem = (list: readonly Json[], index: number, value: Json | undefined): readonly Json[] =>
  value === undefined ? list.toSpliced(index, 1) : list.with(index, value);

/** A path as the API writes it, such as `source_config.resource_spec.cpu`. */
export const pathText = (path: Path): string => path.join('.');

export const isPrefix = (prefix: Path, path: Path): boolean =>
  prefix.length <= path.length && prefix.every((part, index) => String(part) === String(path[index]));

/** The value at a path of names; undefined: it does not exist. */
export function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((each, name) => (isObject(each) ? each[name] : undefined), value);
}

/** The object with another value at a path of names; undefined removes it. */
export function withValueAt(
  object: JsonObject,
  path: readonly string[],
  value: Json | undefined,
): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return object;
  if (rest.length === 0) return withMember(object, name, value);
  const inner = object[name];
  return { ...object, [name]: withValueAt(isObject(inner) ? inner : {}, rest, value) };
}
