import { isDeepStrictEqual } from 'node:util';

/** Server-side apply in memory: field ownership by manager, lists as one value. */
export type Fields = Record<string, unknown>;

/** The field managers of `spec.replicas`, as `manager/operation`. */
export function replicasOwners(applied: Map<string, Fields>): string[] {
  return [...applied]
    .filter(([, fields]) => (fields['spec'] as Fields | undefined)?.['replicas'] !== undefined)
    .map(([manager]) => `${manager}/Apply`);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Merges `source` into `target`; null removes a field. */
export function merge(target: Fields, source: Fields): void {
  for (const [field, value] of Object.entries(source)) {
    const present = target[field];
    if (isFields(value) && isFields(present)) merge(present, value);
    else if (value === null) delete target[field];
    else target[field] = structuredClone(value);
  }
}

const MERGE_KEYS: Readonly<Record<string, string>> = { volumeMounts: 'mountPath', hostAliases: 'ip' };

/** The merge key of a list. For ports it depends on the kind of their parent. */
function mergeKey(field: string, item: Fields): string {
  if (field !== 'ports') return MERGE_KEYS[field] ?? 'name';
  return item['containerPort'] === undefined ? 'port' : 'containerPort';
}

/** Lists of objects that a strategic merge replaces as a whole. */
const WHOLE = ['tolerations', 'envFrom', 'ingress', 'egress', 'metrics', 'policies', 'sources', 'items'];
const isMerged = (field: string, value: unknown): value is Fields[] =>
  Array.isArray(value) && value.every(isFields) && !WHOLE.includes(field);

/** The same as a strategic merge: entries of lists are found by their keys; `$patch: delete` removes one. */
export function mergeByName(target: Fields, source: Fields): void {
  for (const [field, value] of Object.entries(source)) {
    const present = target[field];
    if (isMerged(field, value) && isMerged(field, present)) {
      for (const item of value) mergeEntry(field, present, item);
      if (present.length === 0) delete target[field];
    } else if (isFields(value) && isFields(present)) mergeByName(present, value);
    else merge(target, { [field]: value });
  }
}

function mergeEntry(field: string, present: Fields[], item: Fields): void {
  const key = mergeKey(field, item);
  const index = present.findIndex((candidate) => candidate[key] === item[key]);
  const known = present[index];
  if (item['$patch'] === 'delete') {
    if (known !== undefined) present.splice(index, 1);
  } else if (known === undefined) present.push(structuredClone(item));
  else mergeByName(known, item);
}

/** Removes fields that this manager applied before and omits now, if no other manager applies them. */
export function removeDropped(target: Fields, before: Fields, now: Fields, others: readonly Fields[]): void {
  for (const [field, value] of Object.entries(before)) {
    const elsewhere = others.map((other) => other[field]).filter((other) => other !== undefined);
    const present = target[field];
    if (now[field] === undefined && elsewhere.length === 0) delete target[field];
    else if (isFields(value) && isFields(present)) {
      const next = now[field];
      removeDropped(present, value, isFields(next) ? next : {}, elsewhere.filter(isFields));
    }
  }
}

/** A forced apply of another value takes the field from its former manager. */
export function removeTaken(other: Fields, taken: Fields): void {
  for (const [field, value] of Object.entries(taken)) {
    const present = other[field];
    if (isFields(present) && isFields(value)) removeTaken(present, value);
    else if (present !== undefined && !isFields(value) && !isDeepStrictEqual(present, value))
      delete other[field];
  }
}
