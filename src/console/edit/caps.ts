import type { Policy } from '../api/types.ts';

/** The largest values that the policy allows. */

type Cap = keyof Policy['caps'];

/** Which cap a field of resource_spec has, by its name. */
const CAPS: readonly (readonly [RegExp, Cap])[] = [
  [/(^|_)(min|max)_scale$/, 'scale'],
  [/(^|_)cpu(_limit)?$/, 'cpu'],
  [/(^|_)memory(_limit)?_mb$/, 'memory_mb'],
  [/^db_storage_gi$/, 'storage_gi'],
  [/^db_max_connections$/, 'db_connections'],
];

/**
 * The cap of a field of resource_spec; undefined: it has no cap.
 * @param type deployment_type, which may have caps of its own
 */
export function capOf(
  { caps, caps_by_type: byType }: Policy,
  type: string,
  name: string,
): number | undefined {
  const cap = CAPS.find(([names]) => names.test(name))?.[1];
  if (cap === undefined) return undefined;
  const own: Partial<Policy['caps']> | undefined = (
    byType as Partial<Record<string, Partial<Policy['caps']>>>
  )[type];
  return own?.[cap] ?? caps[cap];
}
