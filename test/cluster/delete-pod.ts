import type { KubeClient } from '../../src/cluster/kube/client/client.ts';
import type { ObjectName } from '../../src/cluster/kube/client/object.ts';
import { RESOURCES, resourcePath } from '../../src/cluster/kube/client/resources.ts';

/**
 * Deletes a pod without a grace period, as a kubelet does after the containers have ended. Berth itself never does this.
 * @param uid deletes only this pod, not another one with the same name
 */
export async function deletePodAtOnce(
  client: Pick<KubeClient, 'request'>,
  at: ObjectName,
  uid?: string,
): Promise<void> {
  await client.request('DELETE', resourcePath(RESOURCES.Pod, at), {
    body: {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      ...(uid === undefined ? {} : { preconditions: { uid } }),
    },
  });
}
