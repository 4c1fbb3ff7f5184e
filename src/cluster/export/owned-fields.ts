import type { ManagedFieldsEntry } from '../kube/client/object.ts';

/**
 * The part of an object that the given field managers set, read from its managedFields. The result is what these
 * managers applied, without defaults, status and the fields of other writers. Format: Kubernetes FieldsV1. `f:NAME` is
 * a member, `k:{…}` the list item with these keys, `v:…` a value of a set, and `.` the object itself. An empty object
 * stands for everything below it.
 */

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges the fields of two managers. */
function union(a: Fields, b: Fields): Fields {
  const merged: Record<string, unknown> = { ...a };
  for (const [key, beneath] of Object.entries(b)) {
    const other = merged[key];
    merged[key] = isObject(other) && isObject(beneath) ? union(other, beneath) : beneath;
  }
  return merged;
}

const isItself = (key: string) => key === '.';
const isWhole = (fields: Fields) => Object.keys(fields).every(isItself) && Object.keys(fields).length === 0;

/** Whether `k:{…}` names this list item. */
function hasKeys(item: unknown, keys: Fields): boolean {
  return isObject(item) && Object.entries(keys).every(([name, value]) => item[name] === value);
}

function itemsOf(list: readonly unknown[], fields: Fields): unknown[] {
  const kept = Object.entries(fields).flatMap(([key, beneath]) => {
    if (key.startsWith('v:')) return list.filter((item) => JSON.stringify(item) === key.slice(2));
    if (!key.startsWith('k:')) return [];
    const keys = JSON.parse(key.slice(2)) as Fields;
    return (
      list
        .filter((item) => hasKeys(item, keys))
        // A key may have a default value, such as the protocol of a port. The key is kept, because it identifies the
        // item.
        .map((item) => ({ ...keys, ...(part(item, beneath as Fields) as object) }))
    );
  });
  return [...kept].sort((a, b) => positionOf(list, a) - positionOf(list, b));
}

/** Position in the list of the item that equals or contains `wanted`. */
function positionOf(list: readonly unknown[], wanted: unknown): number {
  const found = list.findIndex((item) =>
    isObject(item) && isObject(wanted)
      ? Object.entries(wanted).every(
          ([name, value]) => isObject(value) || Array.isArray(value) || item[name] === value,
        )
      : item === wanted,
  );
  return found < 0 ? list.length : found;
}

function part(value: unknown, fields: Fields): unknown {
  if (isWhole(fields)) return value;
  if (Array.isArray(value)) return itemsOf(value, fields);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, beneath]) => {
      const name = key.slice(2);
      if (!key.startsWith('f:') || value[name] === undefined) return [];
      return [[name, part(value[name], beneath as Fields)]];
    }),
  );
}

/**
 * The fields that `managers` set on an object, without subresources.
 * @param object object with managedFields
 */
export function ownedFields(
  object: { readonly metadata: { readonly managedFields?: readonly ManagedFieldsEntry[] | undefined } },
  managers: readonly string[],
): Record<string, unknown> {
  const fields = (object.metadata.managedFields ?? [])
    .filter(({ manager, subresource }) => managers.includes(manager ?? '') && (subresource ?? '') === '')
    .map(({ fieldsV1 }) => (fieldsV1 ?? {}) as Fields)
    .reduce(union, {});
  return isWhole(fields) ? {} : (part(object, fields) as Record<string, unknown>);
}
