/** A cluster that the user has named. The demo changes nothing in it that it has not created itself. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readContext } from '../../src/cluster/kube/access/kubeconfig/kubeconfig-files.ts';
import { OPERATOR_LEASE } from '../../src/contract/resource/names.ts';
import { resolveKubectl } from '../../test/cluster/binaries.ts';
import { type KubectlAccess, kubectl } from '../../test/cluster/kubectl.ts';
import { BERTH_NAMESPACE, type ManifestObject } from '../../test/installation/install.ts';
import { writeContext } from './kube-context.ts';
import type { DemoOptions } from './options.ts';

/** The field manager of the demo. It marks the objects that the demo has created. */
export const DEMO_MANAGER = 'berth-demo';

/** An object of the cluster. */
export interface ClusterObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly managedFields?: readonly { readonly manager: string; readonly subresource?: string }[];
  };
}

interface Lease {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

/** What the cluster contains before the demo changes it. */
export interface ClusterContents {
  /** Workloads with the label of Berth, in all namespaces. */
  readonly workloads: readonly ClusterObject[];
  /** The objects that exist, of those that the demo would apply. */
  readonly existing: readonly ClusterObject[];
  /** The Lease of an operator in the namespace of the demo. null: none */
  readonly lease: Lease | null;
}

const WORKLOADS = 'deployments,statefulsets,daemonsets,jobs';
const NEXT = 'Nothing was changed. Name a cluster without Berth, or use a local one: npm run demo -- --local';

/**
 * Whether the demo has created an object. If another tool also manages the custom resource definition, the definition belongs
 * to an installation with deployments.
 */
function isOwn({ kind, metadata }: ClusterObject): boolean {
  const managers = (metadata.managedFields ?? [])
    .filter(({ subresource }) => !subresource)
    .map(({ manager }) => manager);
  const isDemo = (manager: string) => manager === DEMO_MANAGER;
  return kind === 'CustomResourceDefinition'
    ? managers.length > 0 && managers.every(isDemo)
    : managers.some(isDemo);
}

function isHeld({ spec }: Lease, now: Date): boolean {
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = spec ?? {};
  return holderIdentity !== '' && Date.parse(renewTime) + leaseDurationSeconds * 1000 > now.getTime();
}

const SHOWN = 5;

function named(objects: readonly ClusterObject[]): string {
  const names = objects
    .slice(0, SHOWN)
    .map(({ kind, metadata: { name, namespace } }) =>
      namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`,
    );
  const more = objects.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Why the demo must not use the cluster, with the next step. null: it may. */
export function refusal({ workloads, existing, lease }: ClusterContents, now: Date): string | null {
  if (workloads.length > 0)
    return `it already runs Berth (${named(workloads)}), and a second operator would change the same objects. ${NEXT}`;
  const foreign = existing.filter((object) => !isOwn(object));
  if (foreign.length > 0)
    return `it contains objects of another installation of Berth (${named(foreign)}), which the demo would change. ${NEXT}
If nothing uses these objects, remove them first: docs/install.md, "Remove it".`;
  if (lease !== null && isHeld(lease, now))
    return `another demo or operator uses it (Lease ${BERTH_NAMESPACE}/${OPERATOR_LEASE}). Stop it first. ${NEXT}`;
  return null;
}

/** The objects in the output of `kubectl get -o json`, which is empty, one object or a list. */
function objectsIn(output: string): ClusterObject[] {
  if (output.trim() === '') return [];
  const found = JSON.parse(output) as ClusterObject | { kind: 'List'; items: ClusterObject[] };
  return 'items' in found ? found.items : [found];
}

async function contentsOf(
  access: KubectlAccess,
  wanted: readonly ManifestObject[],
): Promise<ClusterContents> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: wanted });
  const asJson = ['--ignore-not-found', '--show-managed-fields', '--output=json'];
  const [workloads, existing, lease] = await Promise.all([
    kubectl(access, ['get', WORKLOADS, '-A', '-l', 'app.kubernetes.io/name=berth', '--output=json']),
    kubectl(access, ['get', '-f', '-', ...asJson], list),
    kubectl(access, ['get', 'lease', OPERATOR_LEASE, '-n', BERTH_NAMESPACE, ...asJson]),
  ]);
  const [held] = objectsIn(lease) as Lease[];
  return { workloads: objectsIn(workloads), existing: objectsIn(existing), lease: held ?? null };
}

const nameOf = ({ kubeconfig, context }: DemoOptions): string =>
  kubeconfig === undefined ? `of the context ${context}` : `of the context ${context} in ${kubeconfig}`;

/**
 * The options with the context that they name. A file without `--context` means its current context at this time, because a
 * later `kubectl config use-context` must not redirect the demo.
 * @throws Error if the file does not exist or has no current context
 */
export async function withContext(options: DemoOptions): Promise<DemoOptions> {
  const { kubeconfig, context } = options;
  if (kubeconfig === undefined) return options;
  if (!existsSync(kubeconfig)) {
    throw new Error(`failed to read ${kubeconfig}: no such file. Name a kubeconfig, or omit --kubeconfig.`);
  }
  if (context !== undefined) return options;
  return { ...options, context: (await readContext(kubeconfig)).name };
}

/** Access to the cluster of `--kubeconfig` or `--context`. @throws Error if it cannot be used */
export async function openGivenCluster(
  options: DemoOptions,
  stateDir: string,
  print: (line: string) => void,
): Promise<KubectlAccess> {
  const { kubeconfig, context } = options;
  if (context === undefined) throw new Error('the options name no context; see withContext');
  const kubectlPath = await resolveKubectl({ log: print });
  const kubeconfigPath = join(stateDir, 'context.kubeconfig');
  await writeContext(kubectlPath, context, kubeconfig, kubeconfigPath);
  const access = { kubectlPath, kubeconfigPath };
  print(`using the cluster ${nameOf(options)} …`);
  await kubectl(access, ['version', '--output=json']);
  return access;
}

/**
 * Checks that the demo would change nothing of another installation.
 * @param wanted the objects that the demo would apply
 * @throws Error with the reason and the next step
 */
export async function assertFree(
  access: KubectlAccess,
  options: DemoOptions,
  wanted: readonly ManifestObject[],
): Promise<void> {
  const reason = refusal(await contentsOf(access, wanted), new Date());
  if (reason !== null) throw new Error(`failed to use the cluster ${nameOf(options)}: ${reason}`);
}
