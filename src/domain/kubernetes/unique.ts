import type { z } from 'zod';

/** Adds an issue at `[index, field]` for every item of a list whose key equals that of an earlier item. */
export function rejectDuplicates<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  field: string,
  ctx: Pick<z.core.$RefinementCtx, 'addIssue'>,
): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    if (seen.has(key)) {
      ctx.addIssue({
        code: 'custom',
        path: [index, field],
        message: `must be unique in the list, but '${key}' occurs twice`,
      });
    }
    seen.add(key);
  }
}
