import {
  definitionDifference,
  olderDefinition,
  SERVED_AT,
  shown,
  upgradeDefinition,
} from '../../../contract/crd/served-definition.ts';
import { DEPLOYMENT_TASK, MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import type { HostingMode } from '../../../domain/deployment/source.ts';
import { kubernetesAtLeast } from '../../../workloads/cluster-support.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError, toKubeError } from '../../kube/client/errors.ts';
import { describeRight, missingRights, type Right } from '../../kube/client/rights.ts';
import { listenerBuildRights, listenerLeaseRights, namespaceRights, workRights } from '../rights.ts';
import { kubernetesVersion } from '../session/cluster-facts.ts';
import { type Check, complete, type Finding, failed, ok, warning } from './finding.ts';

/** The doctor's findings in the cluster, with the listener's own account. The checks change nothing in the cluster. */

export interface ClusterContext {
  readonly client: Pick<KubeClient, 'request' | 'serverVersion' | 'create'>;
  readonly hosting: HostingMode;
  /** Namespaces that the listener is configured to work in; empty: all. */
  readonly namespaces: readonly string[];
  /** Namespace of Berth. */
  readonly ownNamespace: string;
  /** The build namespace; absent or null: no builds. */
  readonly buildNamespace?: string | null | undefined;
  /** Namespaces that deployments may use, according to the hub; null: unknown. */
  readonly registered: readonly string[] | null;
  /** Namespaces that have deployments, according to the hub; absent: unknown. */
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

/** Oldest supported version. Older versions reject the validation rules of the CRD (CEL with quantities). */
const OLDEST = [1, 30] as const;
const messageOf = (error: unknown) => toKubeError(error).message;

async function connection({ client }: ClusterContext, signal: AbortSignal): Promise<Finding[]> {
  try {
    const version = await client.serverVersion({ signal });
    const short = kubernetesVersion(version);
    const isOld = !kubernetesAtLeast({ kubernetesVersion: short }, ...OLDEST);
    const [major, minor] = OLDEST;
    return [
      ok('cluster_connection', 'the API server responds'),
      ok('cluster_account', 'the API server accepts the credentials'),
      isOld
        ? failed(
            'cluster_version',
            `${version.gitVersion} is older than ${major}.${minor}`,
            `upgrade the cluster to Kubernetes ${major}.${minor} or newer`,
          )
        : ok('cluster_version', version.gitVersion),
    ];
  } catch (error) {
    if (isKubeError(error, 'unauthorized', 'forbidden')) {
      return [
        ok('cluster_connection', 'the API server responds'),
        failed(
          'cluster_account',
          `the API server does not accept the credentials: ${error.message}`,
          'create a new kubeconfig for the ServiceAccount berth-listener (docs/remote-listener.md), or run the ' +
            'listener in a pod with this ServiceAccount',
        ),
      ];
    }
    return [
      failed(
        'cluster_connection',
        messageOf(error),
        'check the server and its certificate in the kubeconfig, and that the API server runs and is reachable from ' +
          'this machine',
      ),
    ];
  }
}

async function customResource({ client }: ClusterContext, signal: AbortSignal): Promise<Finding> {
  const { apiVersion, plural, group } = MANAGED_DEPLOYMENT;
  const install = 'install the CRD in the version of this program: kubectl apply --server-side -f crds/';
  const ask = async (path: string) => (await client.request('GET', path, { signal })).body;
  try {
    const { resources = [] } = (await ask(`/apis/${apiVersion}`)) as { resources?: { name: string }[] };
    if (!resources.some(({ name }) => name === plural)) {
      return failed('custom_resource', `the cluster has no ${plural}.${group} of ${apiVersion}`, install);
    }
    const difference = definitionDifference(await ask(SERVED_AT));
    if (difference === null) {
      return warning(
        'custom_resource',
        'the cluster does not publish the fields of the CRD yet',
        'run the doctor again in a minute',
      );
    }
    const { lacks, more } = difference;
    if (lacks.length > 0) {
      return failed(
        'custom_resource',
        olderDefinition('this program', lacks),
        upgradeDefinition('this program'),
      );
    }
    if (more.length > 0)
      return warning(
        'custom_resource',
        `the custom resource in the cluster is newer than this program: it has ${shown(more)}`,
        'run listener and operator in the newer version',
      );
    if (resources.some(({ name }) => name === DEPLOYMENT_TASK.plural))
      return ok('custom_resource', `${plural}.${group}, of this version`);
    const lacksTasks = `the cluster has no ${DEPLOYMENT_TASK.plural}.${group}: deployments work, but tasks do not run`;
    return warning('custom_resource', lacksTasks, install);
  } catch (error) {
    if (isKubeError(error, 'not_found', 'unknown_resource')) {
      return failed('custom_resource', `the cluster has no ${plural}.${group}`, install);
    }
    return failed(
      'custom_resource',
      messageOf(error),
      'run the doctor again; if the problem persists, ask the administrator of the cluster',
    );
  }
}

async function rights(context: ClusterContext, signal: AbortSignal): Promise<Finding> {
  const { client, namespaces, hosting, ownNamespace, buildNamespace } = context;
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  const wanted: { rights: Right[]; namespace: string | undefined; where: string }[] = [
    // First, because without these rights no tenant gets a namespace.
    { rights: namespaceRights(hosting), namespace: undefined, where: '' },
    ...scopes.map((namespace) => ({
      rights: workRights(),
      namespace,
      where: namespace === undefined ? ' in all namespaces' : ` in ${namespace}`,
    })),
    { rights: listenerLeaseRights(), namespace: ownNamespace, where: ` in ${ownNamespace}` },
  ];
  if (buildNamespace != null) {
    const where = ` in ${buildNamespace} (the profile cloud)`;
    wanted.push({ rights: listenerBuildRights(), namespace: buildNamespace, where });
  }
  const next =
    'grant the account of the listener its rights: run helm upgrade, or kubectl apply with the manifests that were ' +
    'rendered for this installation (docs/install.md); if the account has rights only in some namespaces, list ' +
    'these in BERTH_NAMESPACES';
  try {
    const denied = await Promise.all(
      wanted.map(async ({ rights, namespace, where }) =>
        (await missingRights(client, rights, namespace, signal)).map((right) => describeRight(right) + where),
      ),
    );
    const all = denied.flat();
    if (all.length > 0) return failed('rights', `the account is not allowed to ${shown(all)}`, next);
    const where = namespaces.length === 0 ? 'all namespaces' : shown(namespaces);
    return ok('rights', `all rights of a listener, in ${where}`);
  } catch (error) {
    return failed('rights', messageOf(error), next);
  }
}

/** Dry run of the listener's first write in a namespace: the Secret with the environment of a revision. */
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
        `create it: kubectl create namespace ${namespace}; or remove it from the list of the listener`,
      );
    }
    if (isKubeError(error) && error.causes.some(({ reason }) => reason === 'NamespaceTerminating')) {
      return failed(
        'namespaces',
        `the namespace ${namespace} is being deleted`,
        'wait until it is deleted and create it again, or remove it from the list of the listener',
      );
    }
    return failed(
      'namespaces',
      `no object can be created in ${namespace}: ${messageOf(error)}`,
      'check rights, quota and admission rules of that namespace',
    );
  }
}

/**
 * Finds deployments in namespaces that are no longer in the list. Such deployments are not observed, and cannot be
 * deleted.
 */
function abandoned({ used = [] }: ClusterContext, list: readonly string[]): Finding[] {
  const outside = used.filter(({ namespace }) => !list.includes(namespace));
  if (outside.length === 0) return [];
  const named = outside.map(({ namespace, deployments }) => `${namespace} (${deployments})`);
  return [
    warning(
      'namespaces',
      `deployments are in namespaces that are not in the list: ${shown(named)}; they are not observed and not changed`,
      'add these namespaces to BERTH_NAMESPACES of listener and operator again, at least until their deployments are deleted',
    ),
  ];
}

async function namespaces(context: ClusterContext, signal: AbortSignal): Promise<Finding[]> {
  if (context.hosting === 'cloud') {
    return [ok('namespaces', 'cloud: each tenant has its own namespace, which is created when it is needed')];
  }
  const list = context.namespaces.length > 0 ? context.namespaces : context.registered;
  if (list === null) {
    return [
      warning(
        'namespaces',
        'the hub has the list of namespaces, but the hub was not reached',
        'see the findings of the hub, or list the namespaces in BERTH_NAMESPACES',
      ),
    ];
  }
  if (list.length === 0) return [ok('namespaces', 'all: neither BERTH_NAMESPACES nor the hub has a list')];
  const troubles = await Promise.all(list.map((name) => namespaceTrouble(context, name, signal)));
  const found = [...troubles.filter((trouble) => trouble !== null), ...abandoned(context, list)];
  return found.length > 0
    ? found
    : [ok('namespaces', `the namespaces exist, and the listener can write in them: ${shown(list)}`)];
}

/** The findings of the cluster. Never fails. */
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
 * The findings of the cluster if there is no valid kubeconfig.
 * @param setting the setting for the kubeconfig
 */
export function noCluster(message: string, setting = 'KUBECONFIG'): Finding[] {
  const next = `set ${setting} to a kubeconfig of the ServiceAccount berth-listener (docs/remote-listener.md), or run in a pod with it`;
  // The remedy in the message is removed, because it is meant for the start of a role.
  return complete([failed('kubeconfig', message.split('; next:')[0] ?? message, next)], CHECKS);
}
