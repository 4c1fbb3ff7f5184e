/** The end of a namespace that a floor has filled: the next round is not to share the machine with it. */
import { RESOURCES } from '../../../src/kube/resources.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { ClusterBerth } from './berth.ts';
import { patience } from './fill.ts';

export async function untilGone(
  { admin }: Pick<ClusterBerth, 'admin'>,
  name: string,
  count: number,
): Promise<void> {
  await waitFor(
    `the namespace ${name} to be gone`,
    async () => (await admin.find(RESOURCES.Namespace, { name })) === undefined,
    { timeoutMs: patience(count), intervalMs: 200 },
  );
}
