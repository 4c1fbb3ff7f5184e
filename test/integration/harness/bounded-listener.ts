/** The listener's account of the profile cloud, with the policy that bounds it, under names of its own. */
import { join } from 'node:path';
import { type KubectlAccess, kubectl, writeServiceAccountKubeconfig } from '../../cluster/kubectl.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type ManifestObject, manifestObjects } from '../../installation/install.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin } from './environment.ts';
import { ensureInstalled } from './installed-berth.ts';

const KINDS = [
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
];
const CLUSTER_KINDS =
  'clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding';

export interface BoundedListener {
  /** Of the release. */
  readonly own: string;
  readonly builds: string;
  readonly kubeconfig: string;
  /** kubectl with the account's token. @throws Error with what the API server says */
  run(args: readonly string[], input?: string): Promise<string>;
  /** Gives the account every right in the cluster, so that the policy alone bounds it. */
  grantEveryRight(): Promise<void>;
  remove(): Promise<void>;
}

/** The objects of the profile that concern the listener, of a release in `own` with builds in `builds`. */
function objectsOf(own: string, builds: string): ManifestObject[] {
  const text = JSON.stringify(
    manifestObjects('cloud').filter(
      ({ kind, metadata }) => KINDS.includes(kind) && metadata.name.startsWith('berth-listener'),
    ),
  );
  return JSON.parse(text.replaceAll('berth-system', own).replaceAll('berth-builds', builds));
}

/** @param folder where the kubeconfig is written */
export async function boundedListener(folder: string): Promise<BoundedListener> {
  await ensureInstalled(environment());
  const [own, builds] = await Promise.all([createNamespace('bounds'), createNamespace('bounds-builds')]);
  const items = objectsOf(own, builds);
  await kubectlAsAdmin(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  // The operator of the tests has rights on builds in its own release alone.
  const operator = '--serviceaccount=berth-system:berth-operator';
  await kubectlAsAdmin(['create', 'rolebinding', 'operator', '--clusterrole=admin', operator, '-n', builds]);
  const kubeconfig = join(folder, 'bounded-listener.kubeconfig');
  await writeServiceAccountKubeconfig(environment(), { namespace: own, name: 'berth-listener' }, kubeconfig);
  const access: KubectlAccess = { ...environment(), kubeconfigPath: kubeconfig };
  const run = (args: readonly string[], input?: string) => kubectl(access, args, input);
  const binding = `bounds-admin-${own}`;
  // The API server begins to evaluate a new policy after a moment.
  await waitFor(
    'the policy to be in force',
    async () => {
      const answer = await run(['create', 'namespace', 'foreign', '--dry-run=server']).catch(String);
      return answer.includes('ValidatingAdmissionPolicy') ? true : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 200 },
  );
  return {
    own,
    builds,
    kubeconfig,
    run,
    grantEveryRight: async () => {
      const account = `--serviceaccount=${own}:berth-listener`;
      await kubectlAsAdmin(['create', 'clusterrolebinding', binding, '--clusterrole=cluster-admin', account]);
      await waitFor(
        'every right',
        async () => (await run(['auth', 'can-i', '*', '*', '-A'])).includes('yes') || undefined,
        {
          timeoutMs: 30_000,
          intervalMs: 200,
        },
      );
    },
    remove: async () => {
      await kubectlAsAdmin(['delete', 'clusterrolebinding', binding, '--ignore-not-found']);
      const names = items
        .filter(({ metadata }) => metadata.name.endsWith(own))
        .map(({ metadata }) => metadata.name);
      await kubectlAsAdmin(['delete', CLUSTER_KINDS, ...new Set(names), '--ignore-not-found']);
      await Promise.all([deleteNamespace(own), deleteNamespace(builds)]);
    },
  };
}
