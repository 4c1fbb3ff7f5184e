/** What load plans share: memory growth, parallel clients, and the pod events that the operator receives. */
import type { AddFigure } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import type { Checks } from './steps.ts';
import { MIB, mib, type Usage } from './usage.ts';

/** Growth of the live heap after a collection. 10,000 retained events of 1 KiB would exceed it. */
export const SLACK_BYTES = 6 * MIB;
/** Limit for RSS. It includes memory that the heap needed before a collection and releases late, so it finds only large leaks. */
const MAX_RSS_BYTES = 192 * MIB;

/** Checks and reports the growth of each role. @param most maximum growth of the live heap in bytes */
export function checkGrowth(
  before: readonly Usage[],
  after: readonly Usage[],
  most: number,
  checks: Checks,
  addFigure: AddFigure,
): void {
  for (const { role, heap, rss } of after) {
    const then = before.find((found) => found.role === role) ?? { heap: 0, rss: 0 };
    const [grown, more] = [heap - then.heap, rss - then.rss];
    addFigure(`${role}: live heap ${mib(heap)}, ${signed(grown)}; RSS ${mib(rss)}, ${signed(more)}`);
    checks.that(
      grown <= most,
      `the live heap of ${role} has grown by ${mib(grown)}, at most ${mib(most)} was expected`,
    );
    checks.that(
      more <= MAX_RSS_BYTES,
      `the RSS of ${role} has grown by ${mib(more)}, at most ${mib(MAX_RSS_BYTES)} was expected`,
    );
  }
}

const signed = (bytes: number) => `${bytes >= 0 ? '+' : ''}${mib(bytes)}`;

/** Number of clients that write at the same time. */
export const CLIENTS = 16;

/** Calls `once` for each item, in order, by all clients at the same time. */
export async function inParallel<T>(all: readonly T[], once: (one: T) => Promise<unknown>): Promise<void> {
  const left = all.values();
  const client = async () => {
    for (const one of left) await once(one);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

interface PodMetadata {
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Counts the changes of matching pods that the operator's watch receives from now on. Returns a function with the count. */
export function countPodChanges(world: FaultWorld, matches: (pod: PodMetadata) => boolean): () => number {
  let count = 0;
  world.kubernetes.add({
    match: ({ client, verb, resource }) => client === 'operator' && verb === 'watch' && resource === 'pods',
    fault: {
      kind: 'filter-watch',
      drop: ({ type, object }) => {
        if (type === 'MODIFIED' && matches(object.metadata)) count += 1;
        return false;
      },
    },
  });
  return () => count;
}
