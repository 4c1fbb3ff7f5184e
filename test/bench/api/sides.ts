/** Common parts of benches of the API: a hub and a load, which are stopped even if the start fails. */
import type { BenchContext, Sides } from '../bench.ts';
import { type Load, startLoad } from '../load/load.ts';
import { type BenchHub, prepareHub } from './hub.ts';

/**
 * Prepares a hub, and the sides of a bench with it.
 * @param make creates the sides; what it defers on the stack is stopped before load and hub
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
