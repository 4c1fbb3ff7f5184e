import { isKubeError } from '../../../src/cluster/kube/client/errors.ts';
import { CLAIMS, SERVICE_ACCOUNTS } from './donors.ts';
import type { WalkWorld } from './world.ts';

/** What specs of a walk refer to, and without which no pod would start. */
export async function makePrerequisites({ admin, namespace }: WalkWorld): Promise<void> {
  const accounts = SERVICE_ACCOUNTS.map((name) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace },
  }));
  const claims = CLAIMS.map((name) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace },
    spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
  }));
  for (const object of [...accounts, ...claims]) {
    try {
      await admin.create(object);
    } catch (error) {
      if (!isKubeError(error, 'already_exists')) throw error;
    }
  }
}
