import type http from 'node:http';
import type https from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import type { ClusterAccess } from '../cluster-access.ts';
import { TokenFile } from '../token-file.ts';
import { PluginProblem, pluginFailure, withPluginInput } from './exec-plugin.ts';
import { type KubeconfigContext, readContext, type UserFields } from './kubeconfig-files.ts';
import { completedCluster, problemOf } from './kubeconfig-rules.ts';
import { OidcTokens } from './oidc-tokens.ts';

/** Longest run of an exec plugin. */
const PLUGIN_TIMEOUT_MS = 60_000;

type Headers = Record<string, string | string[]>;

/**
 * Address and credentials of one context of a kubeconfig, from client-node. client-node is loaded with this module.
 * @throws Error that names the file and the problem, never a secret
 */
export async function kubeconfigAccess(files: string, contextName?: string): Promise<ClusterAccess> {
  const context = await readContext(files, contextName);
  const problem = problemOf(context);
  if (problem !== undefined) throw new Error(`failed to read kubeconfig ${files}: ${problem}`);
  const cluster = completedCluster(context.cluster, context.user);
  const credentials = new Credentials({ ...context, cluster });
  return {
    server: new URL(cluster.server),
    namespace: context.namespace,
    headers: () => credentials.headers(),
    tls: () => credentials.tls(),
    invalidate: () => credentials.invalidate(),
    ...(cluster.proxyUrl && { proxyAgent: await proxyAgentOf(cluster) }),
  };
}

class Credentials {
  readonly #context: KubeconfigContext;
  readonly #tokenFile: TokenFile | undefined;
  readonly #oidc: OidcTokens | undefined;
  #config: Promise<KubeConfig> | undefined;
  #applying: Promise<https.RequestOptions> | undefined;

  constructor(context: KubeconfigContext) {
    const { user, userFields, userFile } = context;
    this.#context = context;
    this.#tokenFile = userFields.tokenFile ? new TokenFile(userFields.tokenFile) : undefined;
    this.#oidc = user.authProvider ? new OidcTokens(user, userFile) : undefined;
  }

  async headers(): Promise<Headers> {
    const { user, userFields } = this.#context;
    const { headers, auth } = await this.#options();
    const found = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value as string]);
    const token = (await this.#tokenFile?.read()) ?? (await this.#oidc?.idToken());
    return {
      ...(user.username && auth && { authorization: `Basic ${Buffer.from(auth).toString('base64')}` }),
      ...Object.fromEntries(found),
      ...(token && { authorization: `Bearer ${token}` }),
      ...impersonation(userFields),
    };
  }

  async tls(): Promise<ConnectionOptions> {
    const { ca, cert, key, servername, rejectUnauthorized } = await this.#options();
    const options: ConnectionOptions = { ca, cert, key, servername };
    // node:tls treats an undefined option differently from an absent option.
    const present = Object.entries(options).filter(([, value]) => value !== undefined);
    // Without a value, client-node lets NODE_TLS_REJECT_UNAUTHORIZED decide.
    return { ...Object.fromEntries(present), rejectUnauthorized: rejectUnauthorized ?? true };
  }

  /** KubeConfig has no way to drop a credential, so the next call uses another KubeConfig. */
  invalidate(): void {
    this.#config = undefined;
    this.#tokenFile?.invalidate();
  }

  /** Concurrent calls share one run of the exec plugin. */
  #options(): Promise<https.RequestOptions> {
    this.#applying ??= this.#apply().finally(() => {
      this.#applying = undefined;
    });
    return withinTime(this.#applying, this.#context.user);
  }

  async #apply(): Promise<https.RequestOptions> {
    const { user } = this.#context;
    this.#config ??= this.#newConfig();
    const config = await this.#config.catch((error: unknown) => {
      this.#config = undefined;
      throw error;
    });
    const options: https.RequestOptions = { headers: {} };
    try {
      await config.applyToHTTPSOptions(options);
      // client-node would send the request without credentials.
      const { authorization } = lowerCase(options.headers);
      if (user.exec && !authorization && !(options.cert && options.key)) {
        throw new PluginProblem('printed no ExecCredential with a token or a certificate and key');
      }
    } catch (error) {
      throw isFileError(error) || !user.exec ? error : pluginFailure(user, error);
    }
    return options;
  }

  async #newConfig(): Promise<KubeConfig> {
    const { cluster, user, pluginSettings: settings, userFields } = this.#context;
    const { ca } = await anonymousOptions(cluster);
    const own: User = {
      ...withPluginInput(user, { cluster, ca: ca?.toString(), settings }),
      password: user.password ?? '',
      // Berth refreshes these itself. client-node drops a refresh token after its first use.
      authProvider: undefined,
      ...(userFields.tokenFile && { token: undefined }),
    };
    const config = new KubeConfig();
    config.loadFromClusterAndUser(cluster, own);
    return config;
  }
}

/** The TLS options of the cluster without a user. */
async function anonymousOptions(cluster: Cluster): Promise<https.RequestOptions> {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(cluster, { name: '' });
  const options: https.RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return options;
}

async function proxyAgentOf(cluster: Cluster): Promise<http.Agent> {
  const { agent } = await anonymousOptions(cluster);
  return Object.assign(agent as http.Agent, { keepAlive: true });
}

function impersonation(fields: UserFields): Headers {
  const { 'as-uid': uid, 'as-groups': groups, 'as-user-extra': extra = {} } = fields;
  const extras = Object.entries(extra ?? {}).map(([name, values]) => [
    `impersonate-extra-${encodeURIComponent(name.toLowerCase())}`,
    values,
  ]);
  return {
    ...(uid && { 'impersonate-uid': uid }),
    ...(groups?.length && { 'impersonate-group': groups }),
    ...Object.fromEntries(extras),
  };
}

function lowerCase(headers: https.RequestOptions['headers']): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

/** A certificate or key cannot be read. */
function isFileError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === 'open';
}

/** kubectl waits for a plugin without a limit. A role must not. */
async function withinTime<T>(task: Promise<T>, user: User): Promise<T> {
  if (!user.exec) return task;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    const problem = new PluginProblem(`did not exit within ${PLUGIN_TIMEOUT_MS / 1000} s`);
    timer = setTimeout(() => reject(pluginFailure(user, problem)), PLUGIN_TIMEOUT_MS);
  });
  return Promise.race([task, timeout]).finally(() => clearTimeout(timer));
}
