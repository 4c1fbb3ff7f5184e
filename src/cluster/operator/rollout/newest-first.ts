import { compareText } from '../../../domain/core/compare-text.ts';
import type { ObservedTemplates } from '../observed.ts';

/** Stored templates, newest first. */
export function newestFirst<T extends Pick<ObservedTemplates, 'name' | 'revisionNumber' | 'createdAt'>>(
  all: readonly T[],
): T[] {
  return [...all].sort(
    (a, b) =>
      b.revisionNumber - a.revisionNumber ||
      compareText(b.createdAt, a.createdAt) ||
      // For templates that were created in the same second: `app-1-10` comes after `app-1-9`.
      b.name.length - a.name.length ||
      compareText(b.name, a.name),
  );
}
