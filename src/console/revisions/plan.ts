import type { RevisionDryRun } from '../api/types.ts';
import { type Difference, textOf } from './differences.ts';

/** What a dry run says, in words. */

export const changesOf = ({ changes }: Pick<RevisionDryRun, 'changes'>): Difference[] =>
  changes.map(({ field, before, after }) => ({ field, from: textOf(before), to: textOf(after) }));

/** Whether pods would be replaced. */
export function rollText({ builds, pods_roll: roll, rolls }: RevisionDryRun): string {
  const first = builds ? 'An image is built first. ' : '';
  if (!roll) return `${first}No pods are replaced.`;
  return `${first}Pods of ${rolls.join(', ')} may be replaced, one after another.`;
}
