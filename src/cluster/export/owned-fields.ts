import { isObject } from '../../domain/core/is-object.ts';
import type { ManagedFieldsEntry } from '../kube/client/object.ts';
import { hasKeys, isWhole, type ManagedFields, unionOf } from '../kube/compare/managed-fields.ts';

/**
 * The part of an object that the given field managers set, read from its managedFields. The result is what these
 * managers applied, without defaults, status and the fields of other writers.
 */

function itemsOf(list: readonly unknown[], fields: ManagedFields): unknown[] {
  const kept = Object.entries(fields).flatMap(([key, children]) => {
    if (key.startsWith('v:')) return list.filter((item) => JSON.stringify(item) === key.slice(2));
    if (!key.startsWith('k:')) return [];
    const keys = JSON.parse(key.slice(2)) as ManagedFields;
    return (
      list
        .filter((item) => hasKeys(item, keys))
        // A key may be a default value (a port's protocol). The key is kept, because it identifies the item.
        .map((item) => ({ ...keys, ...(part(item, children as ManagedFields) as object) }))
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

function part(value: unknown, fields: ManagedFields): unknown {
  if (isWhole(fields)) return value;
  if (Array.isArray(value)) return itemsOf(value, fields);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, children]) => {
      const name = key.slice(2);
      if (!key.startsWith('f:') || value[name] === undefined) return [];
      return [[name, part(value[name], children as ManagedFields)]];
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
    .map(({ fieldsV1 }) => (fieldsV1 ?? {}) as ManagedFields)
    .reduce(unionOf, {});
  return isWhole(fields) ? {} : (part(object, fields) as Record<string, unknown>);
}
