/** Puts into a cluster what Berth needs there, from the files that users apply: custom resource, namespace, rights. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type KubectlAccess, kubectl, writeServiceAccountKubeconfig } from '../cluster/kubectl.ts';

/** Berth's own namespace, as in manifests/. */
export const BERTH_NAMESPACE = 'berth-system';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Applies crds/, the namespace and the rights, and waits until the API server serves the custom resource. */
export async function installBerth(access: KubectlAccess): Promise<void> {
  const apply = ['apply', '--server-side', '--force-conflicts', '--field-manager=berth-install'];
  await kubectl(access, [
    ...apply,
    '-f',
    join(root, 'crds'),
    '-f',
    join(root, 'manifests/00-namespace.yaml'),
    '-f',
    join(root, 'manifests/10-rbac.yaml'),
  ]);
  await kubectl(access, [
    'wait',
    '--for=condition=Established',
    '--timeout=60s',
    'crd/manageddeployments.berth.dev',
  ]);
}

/** Kubeconfigs with exactly the rights of the two ServiceAccounts, written into `folder`. */
export async function roleKubeconfigs(
  access: KubectlAccess,
  folder: string,
): Promise<{ listener: string; operator: string }> {
  const paths = {
    listener: join(folder, 'berth-listener.kubeconfig'),
    operator: join(folder, 'berth-operator.kubeconfig'),
  };
  await Promise.all(
    Object.entries(paths).map(([role, path]) =>
      writeServiceAccountKubeconfig(access, { namespace: BERTH_NAMESPACE, name: `berth-${role}` }, path),
    ),
  );
  return paths;
}
