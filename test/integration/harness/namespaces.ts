/** Names and namespaces of one's own, in a cluster that others use as well. */
import { randomBytes } from 'node:crypto';
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';

/** A name that no other test uses: `prefix` and random letters, fit for Kubernetes and PostgreSQL. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`;
}

/** Makes a namespace of one's own; returns its name. */
export async function makeNamespace(access: KubectlAccess, prefix: string): Promise<string> {
  const name = uniqueName(prefix);
  await kubectl(access, ['create', 'namespace', name]);
  // Pods are refused until the namespace has its ServiceAccount.
  await kubectl(access, [
    'wait',
    '--for=create',
    'serviceaccount/default',
    `--namespace=${name}`,
    '--timeout=30s',
  ]);
  return name;
}

/** Starts the deletion of a namespace with all that is in it. */
export async function removeNamespace(access: KubectlAccess, name: string): Promise<void> {
  await kubectl(access, ['delete', 'namespace', name, '--wait=false', '--ignore-not-found']);
}
