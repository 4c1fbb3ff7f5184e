import type { WorkItem } from '../../../contract/protocol/work-protocol.ts';
import { LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';

/** Labels of every Secret that the listener creates for a deployment. */
export function secretLabels(
  item: Pick<WorkItem, 'deployment_id' | 'tenant_id' | 'name'>,
): Record<string, string> {
  return {
    [LABELS.name]: item.name,
    [LABELS.instance]: item.name,
    [LABELS.partOf]: item.name,
    [LABELS.managedBy]: MANAGED_BY,
    [LABELS.deploymentId]: item.deployment_id,
    [LABELS.tenantId]: item.tenant_id,
  };
}

/** @returns false: a Secret of this name exists. @throws KubeError */
export async function createSecret(
  client: Pick<KubeClient, 'create'>,
  secret: KubeObject,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await client.create(secret, { signal });
    return true;
  } catch (error) {
    if (!isKubeError(error, 'already_exists')) throw error;
    return false;
  }
}

/**
 * Deletes the Secret with this uid. Also succeeds when the Secret is already gone or was replaced.
 * @throws KubeError
 */
export async function deleteSecret(
  client: Pick<KubeClient, 'delete'>,
  at: { namespace: string; name: string },
  uid: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.delete(RESOURCES.Secret, at, { uid, signal });
  } catch (error) {
    if (!isKubeError(error, 'not_found', 'conflict')) throw error;
  }
}
