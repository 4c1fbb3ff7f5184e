import { MANAGED_DEPLOYMENT } from '../../contract/managed-deployment.ts';
import {
  definitionDifference,
  olderDefinition,
  SERVED_AT,
  shown,
  upgradeDefinition,
} from '../../contract/served-definition.ts';
import type { HostingMode } from '../../domain/source.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError, toKubeError } from '../../kube/errors.ts';
import { describeRight, missingRights, type Right } from '../../kube/rights.ts';
import { kubernetesAtLeast } from '../../workloads/cluster-support.ts';
import { kubernetesVersion } from '../cluster-facts.ts';
import { buildRights, leaseRights, namespaceRights, workRights } from '../rights.ts';
import { type Check, complete, type Finding, failed, ok, warning } from './finding.ts';

/** What the doctor finds in the cluster, with the listener's own account. Nothing is changed there. */

export interface ClusterContext {
  readonly client: Pick<KubeClient, 'request' | 'serverVersion' | 'create'>;
  readonly hosting: HostingMode;
  /** Namespaces that the listener itself is told to work in; empty: all. */
  readonly namespaces: readonly string[];
  /** Berth's own. */
  readonly ownNamespace: string;
  /** Of builds; absent or null: nothing is built. */
  readonly buildNamespace?: string | null | undefined;
  /** Namespaces that deployments may use, as the hub has it; null: not known. */
  readonly registered: readonly string[] | null;
  /** Where deployments are already, as the hub has it; absent: not known. */
  readonly used?: readonly { readonly namespace: string; readonly deployments: number }[] | undefined;
}

const CHECKS: readonly Check[] = [
  'kubeconfig',
  'cluster_connection',
  'cluster_account',
  'cluster_version',
  'custom_resource',
  'rights',
  'namespaces',
];

/** The rules of the custom resource (CEL with quantities) are refused by older ones. */
const OLDEST = [1, 30] as const;
const messageOf = (error: unknown) => toKubeError(error).message;

async function connection({ client }: ClusterContext, signal: AbortSignal): Promise<Finding[]> {
  try {
    const version = await client.serverVersion({ signal });
    const short = kubernetesVersion(version);
    const isOld = !kubernetesAtLeast({ kubernetesVersion: short }, ...OLDEST);
    const [major, minor] = OLDEST;
    return [
      ok('cluster_connection', 'the API server answers'),
      ok('cluster_account', 'the API server knows it'),
      isOld
        ? failed(
            'cluster_version',
            `${version.gitVersion} is older than ${major}.${minor}`,
            `bring the cluster to Kubernetes ${major}.${minor} or newer`,
          )
        : ok('cluster_version', version.gitVersion),
    ];
  } catch (error) {
    if (isKubeError(error, 'unauthorized', 'forbidden')) {
      return [
        ok('cluster_connection', 'the API server answers'),
        failed(
          'cluster_account',
          `the API server does not take the credentials: ${error.message}`,
          'make a new kubeconfig for the ServiceAccount berth-listener (docs/remote-listener.md), or let the listener run in a pod of it',
        ),
      ];
    }
    return [
      failed(
        'cluster_connection',
        messageOf(error),
        'check the server and its certificate in the kubeconfig, and that the API server runs and can be reached from here',
      ),
    ];
  }
}

async function customResource({ client }: ClusterContext, signal: AbortSignal): Promise<Finding> {
  const { apiVersion, plural, group } = MANAGED_DEPLOYMENT;
  const install = 'install it, of the version of this program: kubectl apply --server-side -f crds/';
  const ask = async (path: string) => (await client.request('GET', path, { signal })).body;
  try {
    const { resources = [] } = (await ask(`/apis/${apiVersion}`)) as { resources?: { name: string }[] };
    if (!resources.some(({ name }) => name === plural)) {
      return failed('custom_resource', `the cluster has no ${plural}.${group} of ${apiVersion}`, install);
    }
    const difference = definitionDifference(await ask(SERVED_AT));
    if (difference === null) {
      return warning('custom_resource', 'the cluster does not tell its fields yet', 'look again in a minute');
    }
    const { lacks, more } = difference;
    if (lacks.length > 0) {
      return failed(
        'custom_resource',
        olderDefinition('this program', lacks),
        upgradeDefinition('this program'),
      );
    }
    if (more.length === 0) return ok('custom_resource', `${plural}.${group}, of this version`);
    return warning(
      'custom_resource',
      `that of the cluster is newer than this program: it has ${shown(more)}`,
      'run listener and operator of the newer version',
    );
  } catch (error) {
    if (isKubeError(error, 'not_found', 'unknown_resource')) {
      return failed('custom_resource', `the cluster has no ${plural}.${group}`, install);
    }
    return failed(
      'custom_resource',
      messageOf(error),
      'look again; if it stays so, ask who runs the cluster',
    );
  }
}

async function rights(context: ClusterContext, signal: AbortSignal): Promise<Finding> {
  const { client, namespaces, hosting, ownNamespace, buildNamespace } = context;
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  const wanted: { rights: Right[]; namespace: string | undefined; where: string }[] = [
    ...scopes.map((namespace) => ({
      rights: workRights(),
      namespace,
      where: namespace === undefined ? ' in all namespaces' : ` in ${namespace}`,
    })),
    { rights: namespaceRights(hosting), namespace: undefined, where: '' },
    { rights: leaseRights(), namespace: ownNamespace, where: ` in ${ownNamespace}` },
  ];
  if (buildNamespace != null) {
    const where = ` in ${buildNamespace} (the profile cloud)`;
    wanted.push({ rights: buildRights(), namespace: buildNamespace, where });
  }
  const next =
    'give the account of the listener its rights: helm upgrade, or kubectl apply what was rendered for this installation (docs/install.md); with rights in some namespaces only, name these in BERTH_NAMESPACES';
  try {
    const denied = await Promise.all(
      wanted.map(async ({ rights, namespace, where }) =>
        (await missingRights(client, rights, namespace, signal)).map((right) => describeRight(right) + where),
      ),
    );
    const all = denied.flat();
    if (all.length > 0) return failed('rights', `the account may not ${shown(all)}`, next);
    const where = namespaces.length === 0 ? 'all namespaces' : shown(namespaces);
    return ok('rights', `everything that a listener does, in ${where}`);
  } catch (error) {
    return failed('rights', messageOf(error), next);
  }
}

/** Tries, without keeping it, what the listener does first in a namespace: the environment of a revision. */
async function namespaceTrouble(
  { client }: ClusterContext,
  namespace: string,
  signal: AbortSignal,
): Promise<Finding | null> {
  const trial = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'berth-doctor', namespace },
    type: 'Opaque',
  };
  try {
    await client.create(trial, { dryRun: true, fieldManager: 'berth-listener', signal });
    return null;
  } catch (error) {
    if (isKubeError(error, 'already_exists')) return null;
    if (isKubeError(error, 'not_found')) {
      return failed(
        'namespaces',
        `there is no namespace ${namespace}`,
        `make it: kubectl create namespace ${namespace}; or take it out of the listener's list`,
      );
    }
    if (isKubeError(error) && error.causes.some(({ reason }) => reason === 'NamespaceTerminating')) {
      return failed(
        'namespaces',
        `the namespace ${namespace} is being deleted`,
        'wait until it is gone and make it again, or take it out of the listener’s list',
      );
    }
    return failed(
      'namespaces',
      `nothing can be made in ${namespace}: ${messageOf(error)}`,
      'look at rights, quota and admission rules of that namespace',
    );
  }
}

/** Deployments in namespaces that are not in the list any more: nobody looks at them, and their deletion cannot end. */
function abandoned({ used = [] }: ClusterContext, list: readonly string[]): Finding[] {
  const outside = used.filter(({ namespace }) => !list.includes(namespace));
  if (outside.length === 0) return [];
  const named = outside.map(({ namespace, deployments }) => `${namespace} (${deployments})`);
  return [
    warning(
      'namespaces',
      `deployments are in namespaces that the list lacks: ${shown(named)}; nothing is seen or done there`,
      'put these namespaces back into BERTH_NAMESPACES, of listener and operator, at least until their deployments are deleted',
    ),
  ];
}

async function namespaces(context: ClusterContext, signal: AbortSignal): Promise<Finding[]> {
  if (context.hosting === 'cloud') {
    return [ok('namespaces', 'cloud: each tenant has its own, made when it is needed')];
  }
  const list = context.namespaces.length > 0 ? context.namespaces : context.registered;
  if (list === null) {
    return [
      warning(
        'namespaces',
        'the list is the hub’s to tell, and the hub was not reached',
        'see the findings of the hub, or name the namespaces in BERTH_NAMESPACES',
      ),
    ];
  }
  if (list.length === 0) return [ok('namespaces', 'any: neither BERTH_NAMESPACES nor the hub names some')];
  const troubles = await Promise.all(list.map((name) => namespaceTrouble(context, name, signal)));
  const found = [...troubles.filter((trouble) => trouble !== null), ...abandoned(context, list)];
  return found.length > 0 ? found : [ok('namespaces', `there, and open to the listener: ${shown(list)}`)];
}

/** The findings of the cluster's side. Never fails. */
export async function clusterFindings(context: ClusterContext, signal: AbortSignal): Promise<Finding[]> {
  const first = [ok('kubeconfig', 'can be read'), ...(await connection(context, signal))];
  if (first.some(({ outcome }) => outcome === 'failed')) return complete(first, CHECKS);
  const [resource, granted, places] = await Promise.all([
    customResource(context, signal),
    rights(context, signal),
    namespaces(context, signal),
  ]);
  return complete([...first, resource, granted, ...places], CHECKS);
}

/**
 * The findings of the cluster's side when it is not known how to reach it.
 * @param setting the one that names the kubeconfig
 */
export function noCluster(message: string, setting = 'KUBECONFIG'): Finding[] {
  const next = `set ${setting} to a kubeconfig of the ServiceAccount berth-listener (docs/remote-listener.md), or run in a pod of it`;
  // Its own advice is for a role that starts.
  return complete([failed('kubeconfig', message.split('; next:')[0] ?? message, next)], CHECKS);
}
