/** Names and namespaces of one's own, in a cluster that others use as well. */
import { randomBytes } from 'node:crypto';
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';

/** A name that no other test uses: `prefix` and random letters, fit for Kubernetes and PostgreSQL. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`;
}

/**
 * Creates namespaces and more objects with one call.
 * Pods are rejected until their namespace has its ServiceAccount. To wait for it would take another call.
 */
export async function applyNamespaces(
  access: KubectlAccess,
  names: readonly string[],
  more: readonly object[] = [],
): Promise<void> {
  const namespaces = names.flatMap((name) => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } },
  ]);
  const list = { apiVersion: 'v1', kind: 'List', items: [...namespaces, ...more] };
  await kubectl(access, ['apply', '--server-side', '-f', '-'], JSON.stringify(list));
}

/** Makes a namespace of one's own; returns its name. */
export async function makeNamespace(access: KubectlAccess, prefix: string): Promise<string> {
  const name = uniqueName(prefix);
  await applyNamespaces(access, [name]);
  return name;
}

/** Starts the deletion of namespaces with all that is in them. */
export async function removeNamespace(access: KubectlAccess, ...names: string[]): Promise<void> {
  await kubectl(access, ['delete', 'namespace', ...names, '--wait=false', '--ignore-not-found']);
}
