/**
 * Several times what any field has. The API server takes thousands of levels below what it does not look into, and what
 * copies or hashes them would run out of stack.
 */
export const MAX_LEVELS = 64;

/** Whether an object has objects in it that are further down than this. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
