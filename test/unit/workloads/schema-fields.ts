import type { z } from 'zod';

/** A zod schema as far as it is walked: https://zod.dev/library-authors (`_zod.def`). */
interface Definition {
  readonly type: string;
  readonly innerType?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
}

const WRAPPERS: ReadonlySet<string> = new Set(['optional', 'nullable', 'default', 'prefault']);

function isFreeForm(schema: z.core.$ZodType): boolean {
  const meta = (schema as z.ZodType).meta?.();
  return meta?.['freeForm'] === true;
}

/**
 * Every field below a schema: `cpu`, `volumes`, `volumes[].configMap`, `sidecars[].env[].value` … It does not look into
 * free-form objects (volume sources, valueFrom, securityContext), nor into lists of them.
 */
export function schemaFields(schema: z.core.$ZodType, path = ''): string[] {
  const definition = schema._zod.def as Definition;
  const { innerType, element, shape } = definition;
  if (WRAPPERS.has(definition.type) && innerType !== undefined) return schemaFields(innerType, path);
  if (isFreeForm(schema)) return [];
  if (element !== undefined) return schemaFields(element, `${path}[]`);
  const prefix = path === '' ? '' : `${path}.`;
  return Object.entries(shape ?? {}).flatMap(([name, member]) => [
    `${prefix}${name}`,
    ...schemaFields(member, `${prefix}${name}`),
  ]);
}

/** One occurrence of a field in a value. */
export interface Occurrence {
  readonly value: unknown;
  /** Names of the list entries on the way to it. */
  readonly keys: readonly string[];
  /** The outermost list entry. */
  readonly entry: { name?: string; restartPolicy?: string };
}

/** What an entry of a list is called: mounts by mountPath, all else by name. */
export function keyOf(entry: unknown): string {
  const { name, mountPath } = entry as { name?: string; mountPath?: string };
  return mountPath ?? name ?? '';
}

/** All occurrences of a field (`sidecars[].env[].value`) in a value; absent and null ones are none. */
export function occurrences(root: unknown, field: string): Occurrence[] {
  return field.split('.').reduce<Occurrence[]>(
    (found, step) => {
      const name = step.replace('[]', '');
      const members = found
        .map(({ value, ...rest }) => ({ ...rest, value: (value as Record<string, unknown>)[name] }))
        .filter(({ value }) => value !== undefined && value !== null);
      if (!step.endsWith('[]')) return members;
      return members.flatMap(({ value, keys, entry }) =>
        (value as object[]).map((item) => ({
          value: item,
          keys: [...keys, keyOf(item)],
          entry: keys.length === 0 ? item : entry,
        })),
      );
    },
    [{ value: root, keys: [], entry: {} }],
  );
}
