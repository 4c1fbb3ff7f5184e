import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import { ExecPluginClient } from './exec-plugin.ts';
import { type KubeconfigCluster, type KubeconfigUser, readKubeconfig } from './kubeconfig.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Projected tokens rotate on disk. client-go rereads them at the same interval. */
const TOKEN_FILE_MAX_AGE_MS = 60_000;

/** Address and credentials of one cluster. */
export interface ClusterAccess {
  server: URL;
  /** Namespace of the context or of the pod, if set. */
  namespace: string | undefined;
  /** Headers that authenticate the caller. */
  headers(): Promise<Record<string, string | string[]>>;
  /** Certificate authorities and client certificate, read again on each call. */
  tls(): Promise<ConnectionOptions>;
  /** Called after a 401: drops cached tokens. */
  invalidate(): void;
}

export interface AccessOptions {
  kubeconfigPath?: string;
  inCluster?: boolean;
  context?: string;
  environment?: Readonly<Record<string, string | undefined>>;
  /** Path at which the pod's service account is mounted. Only tests change this path. */
  serviceAccountPath?: string;
}

/** Resolves the options to an address and credentials. Errors name the file and the problem, never a secret. */
export async function loadClusterAccess(options: AccessOptions): Promise<ClusterAccess> {
  const environment = options.environment ?? {};
  if (options.inCluster) return inClusterAccess(environment, options.serviceAccountPath ?? SERVICE_ACCOUNT);
  if (!options.kubeconfigPath) {
    throw new Error('failed to reach a cluster: neither a kubeconfig nor in-cluster mode is configured');
  }
  const { cluster, user, namespace } = await readKubeconfig(options.kubeconfigPath, options.context);
  return accessOf(cluster, user, namespace, environment);
}

async function inClusterAccess(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<ClusterAccess> {
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? 'kubernetes.default.svc';
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  const namespace = await readText(`${folder}/namespace`, 'the namespace of the service account').catch(
    () => undefined,
  );
  return accessOf(
    {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      'certificate-authority': `${folder}/ca.crt`,
    },
    { tokenFile: `${folder}/token` },
    namespace,
    environment,
  );
}

function accessOf(
  cluster: KubeconfigCluster,
  user: KubeconfigUser,
  namespace: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): ClusterAccess {
  const plugin = user.exec ? new ExecPluginClient(user.exec, cluster, environment) : undefined;
  const tokenFile = user.tokenFile ? new TokenFile(user.tokenFile) : undefined;
  return {
    server: new URL(cluster.server),
    namespace,
    headers: async () => ({
      ...(await authorization(user, tokenFile, plugin)),
      ...(user.as && { 'impersonate-user': user.as }),
      ...(user['as-groups']?.length && { 'impersonate-group': user['as-groups'] }),
    }),
    tls: () => tlsMaterial(cluster, user, plugin),
    invalidate: () => {
      plugin?.invalidate();
      tokenFile?.invalidate();
    },
  };
}

async function authorization(
  user: KubeconfigUser,
  tokenFile: TokenFile | undefined,
  plugin: ExecPluginClient | undefined,
): Promise<Record<string, string>> {
  // Precedence as in client-go: token file, token, plugin.
  const token = tokenFile ? await tokenFile.read() : (user.token ?? (await plugin?.credential())?.token);
  if (token) return { authorization: `Bearer ${token}` };
  if (user.username === undefined) return {};
  const basic = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64');
  return { authorization: `Basic ${basic}` };
}

async function tlsMaterial(
  cluster: KubeconfigCluster,
  user: KubeconfigUser,
  plugin: ExecPluginClient | undefined,
): Promise<ConnectionOptions> {
  const [ca, cert, key, credential] = await Promise.all([
    dataOrFile(
      cluster['certificate-authority-data'],
      cluster['certificate-authority'],
      'certificate-authority',
    ),
    dataOrFile(user['client-certificate-data'], user['client-certificate'], 'client-certificate'),
    dataOrFile(user['client-key-data'], user['client-key'], 'client-key'),
    plugin?.credential(),
  ]);
  const options: ConnectionOptions = {
    ca,
    cert: credential?.clientCertificateData ?? cert,
    key: credential?.clientKeyData ?? key,
    servername: cluster['tls-server-name'],
    rejectUnauthorized: cluster['insecure-skip-tls-verify'] !== true,
  };
  // node:tls treats an undefined option differently from an absent option.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

async function dataOrFile(
  data: string | undefined,
  file: string | undefined,
  what: string,
): Promise<string | undefined> {
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  return file ? readText(file, what) : undefined;
}

async function readText(file: string, what: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new Error(
      `failed to read ${what} ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unreadable'}`,
    );
  }
}

/**
 * A token that another process renews on disk. If a read fails, the old token is kept, because it is usually still
 * valid.
 */
class TokenFile {
  readonly #file: string;
  #token: string | undefined;
  #readAt = 0;

  constructor(file: string) {
    this.#file = file;
  }

  async read(): Promise<string> {
    const fresh = performance.now() - this.#readAt < TOKEN_FILE_MAX_AGE_MS;
    if (this.#token !== undefined && fresh) return this.#token;
    try {
      this.#token = await readText(this.#file, 'the token file');
      this.#readAt = performance.now();
    } catch (error) {
      if (this.#token === undefined) throw error;
    }
    return this.#token;
  }

  invalidate(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }
}
