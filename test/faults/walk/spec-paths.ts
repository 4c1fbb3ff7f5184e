/** Leaf paths of a zod schema and of its values: `cpu`, `labels{}`, `sidecars[].env[].value`, … */
import type { z } from 'zod';

interface Definition {
  readonly type: string;
  readonly innerType?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
}

const WRAPPERS: ReadonlySet<string> = new Set(['optional', 'nullable', 'default', 'prefault', 'readonly']);

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** Every leaf of a schema, including free-form objects. A map is one leaf, such as `labels{}`. */
export function schemaLeaves(schema: z.core.$ZodType, path = ''): string[] {
  const { type, innerType, element, shape } = schema._zod.def as Definition;
  if (WRAPPERS.has(type) && innerType !== undefined) return schemaLeaves(innerType, path);
  if (element !== undefined) return schemaLeaves(element, `${path}[]`);
  if (shape !== undefined) {
    return Object.entries(shape).flatMap(([name, member]) => schemaLeaves(member, below(path, name)));
  }
  return [type === 'record' ? `${path}{}` : path];
}

/**
 * The leaves of a schema that a value contains, each with its values as JSON, in order.
 * @param leaves leaves of the schema; they show which objects are maps
 */
export function valueLeaves(value: unknown, leaves: ReadonlySet<string>): Map<string, string> {
  const found = new Map<string, string>();
  const add = (path: string, leaf: unknown) =>
    found.set(path, `${found.get(path) ?? ''}${JSON.stringify(leaf)};`);
  const walk = (node: unknown, path: string): void => {
    if (node === undefined || node === null) return;
    if (leaves.has(`${path}{}`)) add(`${path}{}`, node);
    else if (Array.isArray(node)) {
      for (const item of node) walk(item, `${path}[]`);
    } else if (typeof node === 'object') {
      for (const [name, member] of Object.entries(node)) walk(member, below(path, name));
    } else add(path, node);
  };
  walk(value, '');
  return found;
}
