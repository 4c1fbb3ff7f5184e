/** What benches of the API have: a hub, a load; and their end, however far the start came. */
import type { BenchContext, Sides } from '../bench.ts';
import { type Load, startLoad } from '../load/load.ts';
import { type BenchHub, prepareHub } from './hub.ts';

/**
 * Prepares a hub, and a bench's sides on it.
 * @param make what it defers on the stack ends before load and hub do
 */
export async function withHub(
  context: BenchContext,
  make: (hub: BenchHub, load: Load, stack: AsyncDisposableStack) => Promise<Omit<Sides, 'stop'>>,
): Promise<Sides> {
  const stack = new AsyncDisposableStack();
  try {
    const hub = await prepareHub(context);
    stack.defer(() => hub.stop());
    const load = startLoad();
    stack.defer(() => load.stop());
    return { ...(await make(hub, load, stack)), stop: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
