/**
 * Berth as an installation describes it, in processes of this machine: the local cluster only simulates pods. Command,
 * settings, Secret and account of each are those of the Deployment that is in the cluster.
 */
import { join } from 'node:path';
import { type KubectlAccess, kubectl, writeServiceAccountKubeconfig } from '../../cluster/kubectl.ts';
import { type BerthProcess, runBerth, startBerth } from '../../installation/berth-process.ts';
import { BERTH_NAMESPACE } from '../../installation/install.ts';

interface PodSpec {
  serviceAccountName: string;
  automountServiceAccountToken: boolean;
  containers: [
    {
      args: [string];
      env?: {
        name: string;
        value?: string;
        valueFrom?: { secretKeyRef: { name: string; key: string; optional?: true } };
      }[];
      envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
    },
  ];
}

export interface InstalledWorkload {
  kind: string;
  metadata: { name: string };
  spec: {
    replicas?: number;
    template: { metadata: { annotations?: Record<string, string> }; spec: PodSpec };
  };
  status?: { availableReplicas?: number; succeeded?: number };
}

type Environment = Record<string, string>;

/** Deployments and Jobs of Berth itself. @param namespace of the release */
export async function installedWorkloads(
  access: KubectlAccess,
  kind: 'deployments' | 'jobs',
  namespace = BERTH_NAMESPACE,
): Promise<InstalledWorkload[]> {
  const args = ['get', kind, '-n', namespace, '-l', 'app.kubernetes.io/part-of=berth', '-o', 'json'];
  return (JSON.parse(await kubectl(access, args)) as { items: InstalledWorkload[] }).items;
}

/** The environment of a pod's container, as the kubelet makes it. */
async function environmentOf(
  access: KubectlAccess,
  { containers }: PodSpec,
  namespace = BERTH_NAMESPACE,
): Promise<Environment> {
  const read = async (kind: 'configmap' | 'secret', name: string): Promise<Environment> => {
    // A Secret whose keys are all optional may be absent.
    const args = ['get', kind, name, '-n', namespace, '-o', 'json', '--ignore-not-found'];
    const { data = {} } = JSON.parse((await kubectl(access, args)) || '{}') as { data?: Environment };
    if (kind === 'configmap') return data;
    const decode = (value: string) => Buffer.from(value, 'base64').toString('utf8');
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decode(value)]));
  };
  const secrets = new Map<string, Promise<Environment>>();
  const secretOf = (name: string) => {
    const secret = secrets.get(name) ?? read('secret', name);
    secrets.set(name, secret);
    return secret;
  };
  const [{ env = [], envFrom = [] }] = containers;
  const found: Environment = {};
  for (const { configMapRef, secretRef } of envFrom) {
    if (configMapRef) Object.assign(found, await read('configmap', configMapRef.name));
    if (secretRef) Object.assign(found, await read('secret', secretRef.name));
  }
  for (const { name, value, valueFrom } of env) {
    const { secretKeyRef } = valueFrom ?? {};
    const given = secretKeyRef === undefined ? value : (await secretOf(secretKeyRef.name))[secretKeyRef.key];
    if (given !== undefined || secretKeyRef?.optional !== true) found[name] = given ?? '';
  }
  return found;
}

/** Runs what the Job of the installation would. */
export async function runInstalledMigration(access: KubectlAccess, stateDir: string): Promise<void> {
  for (const { spec } of await installedWorkloads(access, 'jobs')) {
    await runBerth(
      stateDir,
      spec.template.spec.containers[0].args,
      await environmentOf(access, spec.template.spec),
    );
  }
}

/** Where the order matters: what others call comes first. */
const ORDER = ['all', 'api', 'operator', 'listener'] as const;
type Role = (typeof ORDER)[number];

/**
 * Starts one process for each Deployment of the installation, with the rights of its account, and waits until each is
 * ready.
 * @param hubUrl of the hub; absent: the API of the installation
 * @param namespace of the release
 */
export async function startInstalled(
  access: KubectlAccess,
  stateDir: string,
  hubUrl?: string,
  namespace = BERTH_NAMESPACE,
): Promise<{ url: string; processes: BerthProcess[] }> {
  const pods = (await installedWorkloads(access, 'deployments', namespace)).map(
    ({ spec }) => spec.template.spec,
  );
  const roleOf = (pod: PodSpec) => pod.containers[0].args[0] as Role;
  const processes: BerthProcess[] = [];
  let url = hubUrl;
  for (const pod of pods.sort((a, b) => ORDER.indexOf(roleOf(a)) - ORDER.indexOf(roleOf(b)))) {
    const role = roleOf(pod);
    const kubeconfig = join(stateDir, `${namespace}-${pod.serviceAccountName}.kubeconfig`);
    const account = { namespace, name: pod.serviceAccountName };
    if (pod.automountServiceAccountToken) await writeServiceAccountKubeconfig(access, account, kubeconfig);
    const settings: Environment = {
      ...(await environmentOf(access, pod, namespace)),
      BERTH_HOST: '127.0.0.1',
      BERTH_PORT: '0',
      BERTH_METRICS_PORT: '0',
      // Enough to be seen.
      BERTH_MIN_READY_SECONDS: '1',
      ...(pod.automountServiceAccountToken ? { BERTH_KUBECONFIG: kubeconfig } : {}),
    };
    if (url === undefined) delete settings['BERTH_HUB_URL'];
    else settings['BERTH_HUB_URL'] = url;
    const started = await startBerth({ stateDir, role, name: `${namespace}-${role}`, settings });
    processes.push(started);
    if (started.url !== '') url = started.url;
  }
  return { url: url ?? '', processes };
}
