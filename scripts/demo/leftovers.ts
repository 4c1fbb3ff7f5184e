/** What the demo leaves in a cluster that the user has named, and how to remove it. */
import { quoted } from '../../src/cli/client/table.ts';
import type { ManifestObject } from '../../test/installation/install.ts';
import { isGivenCluster } from './choose-cluster.ts';
import type { DemoOptions } from './options.ts';

type Cluster = Pick<DemoOptions, 'kubeconfig' | 'context'>;

/** kubectl for the cluster that the user has named. The current context may be another cluster. */
function kubectlOf({ kubeconfig, context }: Cluster): string {
  return [
    'kubectl',
    ...(kubeconfig === undefined ? [] : [`--kubeconfig ${quoted(kubeconfig)}`]),
    ...(context === undefined ? [] : [`--context ${quoted(context)}`]),
  ].join(' ');
}

/** Commands that delete exactly these objects. Objects in a namespace are deleted with it. */
function removalCommands(cluster: Cluster, objects: readonly ManifestObject[]): string[] {
  const namesByKind = new Map<string, string[]>();
  for (const { kind, metadata } of objects)
    if (metadata.namespace === undefined)
      namesByKind.set(kind, [...(namesByKind.get(kind) ?? []), metadata.name]);
  const kubectl = kubectlOf(cluster);
  return [...namesByKind].map(
    ([kind, names]) => `${kubectl} delete --ignore-not-found ${kind.toLowerCase()} ${names.join(' ')}`,
  );
}

/**
 * The last message of the demo.
 * @param leftovers objects that the demo has created, and that stay. Empty: it has created none
 */
export function farewell(options: Cluster, leftovers: readonly ManifestObject[]): string {
  if (!isGivenCluster(options)) return 'stopped; everything is removed';
  if (leftovers.length === 0) return 'stopped; the cluster was not changed';
  const commands = removalCommands(options, leftovers).map((command) => `  ${command}`);
  return `stopped. The objects that the demo has installed are still in the cluster. To remove them, and every ManagedDeployment:
${commands.join('\n')}`;
}
