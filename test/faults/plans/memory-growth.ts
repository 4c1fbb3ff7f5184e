/** How much more memory the roles use than before, and how much more they may. */
import type { AddFigure } from '../plan.ts';
import type { Checks } from './checks.ts';
import { MIB, mib, type Usage } from './usage.ts';

/** What objectCounts after a collection: 10,000 events that were kept, of 1 KiB each, are more. */
export const SLACK_BYTES = 6 * MIB;
/** RSS is what the heap once took before it was collected, and given back late: a bound for what runs away. */
const MOST_RSS_BYTES = 192 * MIB;

/** @param most bytes that may live beside what lived before, in each role */
export function checkGrowth(
  before: readonly Usage[],
  after: readonly Usage[],
  most: number,
  checks: Checks,
  tell: AddFigure,
): void {
  for (const { role, heap, rss } of after) {
    const then = before.find((found) => found.role === role) ?? { heap: 0, rss: 0 };
    const [grown, more] = [heap - then.heap, rss - then.rss];
    tell(`${role}: live heap ${mib(heap)}, ${signed(grown)}; RSS ${mib(rss)}, ${signed(more)}`);
    checks.that(
      grown <= most,
      `the live heap of ${role} has grown by ${mib(grown)}, at most ${mib(most)} was expected`,
    );
    checks.that(
      more <= MOST_RSS_BYTES,
      `the RSS of ${role} has grown by ${mib(more)}, at most ${mib(MOST_RSS_BYTES)} was expected`,
    );
  }
}

const signed = (bytes: number) => `${bytes >= 0 ? '+' : ''}${mib(bytes)}`;
