/**
 * Maximum number of nested levels, several times that of any field. The API server accepts thousands of levels in
 * fields without a schema, which would overflow the stack of recursive code such as copies and hashes.
 */
export const MAX_LEVELS = 64;

/** Whether an object is nested deeper than the limit. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
