/** What load plans share: memory growth, parallel clients, and the pod events that the operator receives. */
import type { AddFigure } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import type { Checks } from './steps.ts';
import { MIB, mib, type Usage } from './usage.ts';

/** Growth of the live heap after a collection. 10,000 retained events of 1 KiB would exceed it. */
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

/** Of a crowd: so many write at once. */
export const CLIENTS = 16;

/** Does it for each, in their order, by all clients at once. */
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

/** Counts the changes of such pods that the operator is told of by its watch, from now on. */
export function countPodChanges(world: FaultWorld, isSuch: (pod: PodMetadata) => boolean): () => number {
  let told = 0;
  world.kubernetes.add({
    match: ({ client, verb, resource }) => client === 'operator' && verb === 'watch' && resource === 'pods',
    fault: {
      kind: 'filter-watch',
      drop: ({ type, object }) => {
        if (type === 'MODIFIED' && isSuch(object.metadata)) told += 1;
        return false;
      },
    },
  });
  return () => told;
}
