import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';

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
 * Deletes the Secret with this uid. Succeeds when it is already gone or was replaced.
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
