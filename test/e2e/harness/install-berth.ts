/** Installs Berth on a real node by its chart, with its own database in the cluster. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CHART, profileFile } from '../../../scripts/manifests.ts';
import { type KubectlAccess, kubectl as kubectlOf } from '../../cluster/kubectl.ts';
import type { RealNode } from '../../cluster/real-node/node.ts';
import { helm } from '../../installation/helm.ts';
import { BERTH_NAMESPACE } from '../../installation/install.ts';

const postgresManifest = fileURLToPath(new URL('postgres.yaml', import.meta.url));

export interface InstallOptions {
  /** Digest of Berth's image. */
  readonly digest: string;
  /** Values of the chart beside those that every installation here has. */
  readonly values: Readonly<Record<string, string>>;
  /** Entries of the Secret beside those that every installation here has. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
}

export interface InstalledBerth {
  readonly apiKey: string;
  /** Address of the API's Service in the node's network. */
  readonly api: { readonly host: string; readonly port: number };
}

/** Installs Berth on a node, with one pod for all roles: a database with an ordinary role, Secret and release. */
export async function installBerth(
  node: RealNode,
  { digest, values, secrets, say }: InstallOptions,
): Promise<InstalledBerth> {
  const kubectl = (args: readonly string[], input?: string) => kubectlOf(node, args, input);
  const secret = (namespace: string, name: string, values: Record<string, string>) =>
    kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace },
        stringData: values,
      }),
    );
  const password = randomBytes(16).toString('hex');
  say('starting the PostgreSQL of Berth in the cluster …');
  await kubectl(
    ['apply', '-f', '-'],
    readFileSync(postgresManifest, 'utf8').replaceAll('IMAGE_HOST', node.imageHost),
  );
  await secret('berth-database', 'postgres', { password });
  await kubectl(['-n', 'berth-database', 'rollout', 'status', 'deploy/postgres', '--timeout=300s']);
  const psql = ['psql', '--username=postgres', '--set=ON_ERROR_STOP=1', '--file=-'];
  await kubectl(
    ['-n', 'berth-database', 'exec', '-i', 'deploy/postgres', '--', ...psql],
    `CREATE ROLE berth LOGIN PASSWORD '${password}';\nCREATE DATABASE berth OWNER berth;\n`,
  );
  await createNamespace(node, BERTH_NAMESPACE, 'restricted');
  const apiKey = randomBytes(32).toString('hex');
  await secret(BERTH_NAMESPACE, 'berth', {
    DATABASE_URL: `postgres://berth:${password}@postgres.berth-database.svc.cluster.local/berth`,
    BERTH_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    BERTH_BOOTSTRAP_API_KEY: apiKey,
    BERTH_LISTENER_KEY: randomBytes(32).toString('hex'),
    ...secrets,
  });
  say('installing Berth (helm, profile single) …');
  const all = {
    'image.repository': `${node.imageHost}/berth`,
    'image.digest': digest,
    'config.BERTH_DATABASE_IMAGE': `${node.imageHost}/base/postgres:latest`,
    'config.BERTH_CACHE_IMAGE': `${node.imageHost}/base/redis:latest`,
    'config.BERTH_INSECURE_REGISTRIES': node.imageHost,
    ...values,
  };
  const settings = Object.entries(all).flatMap(([name, value]) => [
    // A setting is text, also if it is `true`.
    name.startsWith('config.') ? '--set-string' : '--set',
    `${name}=${value}`,
  ]);
  const profile = ['-f', profileFile('single')];
  await helm(node, [
    ...['install', 'berth', CHART, '-n', BERTH_NAMESPACE, ...profile, ...settings],
    ...['--wait', '--timeout', '300s'],
  ]);
  return { apiKey, api: { host: await serviceAddress(node), port: 80 } };
}

/** Creates a namespace that enforces a Pod Security level. */
export async function createNamespace(access: KubectlAccess, name: string, level: string): Promise<void> {
  await kubectlOf(access, ['create', 'namespace', name]);
  await kubectlOf(access, ['label', 'namespace', name, `pod-security.kubernetes.io/enforce=${level}`]);
}

function serviceAddress(node: RealNode): Promise<string> {
  const args = ['-n', BERTH_NAMESPACE, 'get', 'service', 'berth-api', '-o', 'jsonpath={.spec.clusterIP}'];
  return kubectlOf(node, args);
}
