import { clusterState } from './cluster-state.ts';
import type { Issue } from './effects.ts';
import { type Settled, untilRight } from './settle.ts';
import { leftovers, otherRevisions, surplusPods } from './state-checks.ts';
import type { WalkWorld } from './world.ts';

/** What is left over of a deployment that has settled; what is still tidied may take a moment. */
export async function leftOver(
  world: WalkWorld,
  { how, deployment }: Pick<Settled, 'how' | 'deployment'>,
  signal: AbortSignal,
): Promise<Issue[]> {
  const diff = await untilRight(async () => {
    const state = await clusterState(world, deployment.id);
    const wrong = how === 'failed' ? otherRevisions(state, deployment) : surplusPods(state);
    return [...leftovers(state), ...wrong];
  }, signal);
  return diff.length === 0 ? [] : [{ message: 'something is left over', diff }];
}
