import { isObject } from '../../../domain/core/is-object.ts';
import type { ManagedFieldsEntry } from '../client/object.ts';
import type { PathStep } from './additions.ts';

/**
 * Fields of an object that a manager owns. Format: Kubernetes FieldsV1. `f:NAME` is a member, `k:{…}` the list item with
 * these keys, `v:…` a value of a set, and `.` the object itself. An empty object stands for everything below it.
 */
export type ManagedFields = Readonly<Record<string, unknown>>;

/** Merges the fields of two managers. */
export function unionOf(a: ManagedFields, b: ManagedFields): ManagedFields {
  const merged: Record<string, unknown> = { ...a };
  for (const [key, children] of Object.entries(b)) {
    const other = merged[key];
    merged[key] = isObject(other) && isObject(children) ? unionOf(other, children) : children;
  }
  return merged;
}

/** Whether `k:{…}` names this list item. */
export function hasKeys(item: unknown, keys: ManagedFields): boolean {
  return isObject(item) && Object.entries(keys).every(([name, value]) => item[name] === value);
}

/** Whether an empty object stands for all fields below it. */
export const isWhole = (fields: ManagedFields): boolean => Object.keys(fields).length === 0;

/** The fields of these entries, without those of the status. */
export function fieldsOfEntries(entries: readonly ManagedFieldsEntry[]): ManagedFields {
  return entries
    .filter(({ subresource }) => subresource !== 'status')
    .map(({ fieldsV1 }) => (fieldsV1 ?? {}) as ManagedFields)
    .reduce(unionOf, {});
}

/**
 * Whether the fields contain this field or a part of it. A list item must be contained itself (`.`), because a manager that
 * changed a field of an item did not add the item.
 */
export function includesField(fields: ManagedFields, steps: readonly PathStep[]): boolean {
  let here: unknown = fields;
  for (const [depth, step] of steps.entries()) {
    if (!isObject(here)) return false;
    if (depth > 0 && isWhole(here)) return true;
    here = typeof step === 'string' ? here[`f:${step}`] : itemOf(here, step);
  }
  if (typeof steps.at(-1) === 'string') return here !== undefined;
  return isObject(here) && (isWhole(here) || Object.hasOwn(here, '.'));
}

function itemOf(fields: ManagedFields, item: ManagedFields): unknown {
  const key = Object.keys(fields).find(
    (name) => name.startsWith('k:') && hasKeys(item, JSON.parse(name.slice(2)) as ManagedFields),
  );
  return key === undefined ? undefined : fields[key];
}
