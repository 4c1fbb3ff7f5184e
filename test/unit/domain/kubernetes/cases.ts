import { expect, it } from 'vitest';
import type { z } from 'zod';

/** `[what, value, path of the expected issue]` */
export type BadCase = readonly [string, unknown, string];

/** The paths of the issues of a schema, as dotted text; an unknown key is part of the path. */
export function issuePaths(schema: z.ZodType, value: unknown): string[] {
  const result = schema.safeParse(value);
  if (result.success) return [];
  return result.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => [...issue.path, key].join('.'))
      : [issue.path.join('.')],
  );
}

export function accepts(schema: z.ZodType, cases: readonly (readonly [string, unknown])[]): void {
  it.each(cases)('accepts %s', (_, value) => expect(issuePaths(schema, value)).toEqual([]));
}

export function rejects(schema: z.ZodType, cases: readonly BadCase[]): void {
  it.each(cases)('rejects %s', (_, value, path) => expect(issuePaths(schema, value)).toContain(path));
}
