import type http from 'node:http';
import type https from 'node:https';
import tls, { type ConnectionOptions } from 'node:tls';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import type { ClusterAccess } from '../cluster-access.ts';
import { TokenFile } from '../token-file.ts';
import {
  assertNonInteractive,
  NO_CREDENTIAL,
  PluginProblem,
  pluginFailure,
  withPluginInput,
} from './exec-plugin.ts';
import { type KubeconfigContext, readContext, type UserFields } from './kubeconfig-files.ts';
import { completedCluster, kubeconfigProblem } from './kubeconfig-rules.ts';
import { OidcTokens } from './oidc-tokens.ts';

/** Longest run of an exec plugin. */
const PLUGIN_SECONDS = 60;

type Headers = Record<string, string | string[]>;

/**
 * Address and credentials of one context of a kubeconfig, from client-node. client-node is loaded with this module.
 * @throws Error that names the file and the problem, never a secret
 */
export async function kubeconfigAccess(
  files: string,
  contextName?: string,
  pluginSeconds = PLUGIN_SECONDS,
): Promise<ClusterAccess> {
  const context = await readContext(files, contextName);
  const fail = (problem: string) => new Error(`failed to read kubeconfig ${files}: ${problem}`);
  const problem = kubeconfigProblem(context);
  if (problem !== undefined) throw fail(problem);
  const cluster = completedCluster(context.cluster, context.user);
  const { ca, agent } = await staticOptions(cluster, context.user).catch((error: Error) => {
    throw fail(error.message);
  });
  const withPlugin = withPluginInput(context.user, {
    cluster: context.cluster,
    ca: ca?.toString(),
    settings: context.pluginSettings,
    // Later than the timer in this process, which reports the problem.
    seconds: pluginSeconds + 1,
  });
  const credentials = new Credentials({ ...context, cluster }, withPlugin, pluginSeconds);
  await credentials.readTokenFile().catch((error: Error) => {
    throw fail(error.message);
  });
  return {
    server: new URL(cluster.server),
    namespace: context.namespace,
    headers: () => credentials.headers(),
    tls: () => credentials.tls(),
    invalidate: (rejected) => credentials.invalidate(rejected),
    ...(cluster.proxyUrl && { proxyAgent: Object.assign(agent as http.Agent, { keepAlive: true }) }),
  };
}

/** The options that need no exec plugin. Like kubectl, fails at once if a certificate or key cannot be read. */
async function staticOptions(cluster: Cluster, user: User): Promise<https.RequestOptions> {
  const options: https.RequestOptions = {};
  await kubeConfigOf(cluster, { ...user, exec: undefined, authProvider: undefined }).applyToHTTPSOptions(
    options,
  );
  return options;
}

function kubeConfigOf(cluster: Cluster, user: User): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(cluster, user);
  return config;
}

class Credentials {
  readonly #context: KubeconfigContext;
  readonly #tokenFile: TokenFile | undefined;
  readonly #oidc: OidcTokens | undefined;
  /** The user as client-node gets it. */
  readonly #user: User;
  readonly #pluginSeconds: number;
  /** Of the last call. undefined: the server rejected it, or there was no call. */
  #authorization: Headers[string] | undefined;
  #config: KubeConfig | undefined;
  #applying: Promise<https.RequestOptions> | undefined;

  constructor(context: KubeconfigContext, withPlugin: User, pluginSeconds: number) {
    const { user, userFields, userFile } = context;
    this.#context = context;
    this.#pluginSeconds = pluginSeconds;
    this.#tokenFile = userFields.tokenFile ? new TokenFile(userFields.tokenFile) : undefined;
    this.#oidc = user.authProvider ? new OidcTokens(user, userFile) : undefined;
    this.#user = {
      ...withPlugin,
      password: user.password ?? '',
      authProvider: undefined,
      ...(userFields.tokenFile && { token: undefined }),
    };
  }

  /** @throws Error if the token file cannot be read */
  async readTokenFile(): Promise<string | undefined> {
    return this.#tokenFile?.read();
  }

  async headers(): Promise<Headers> {
    const { user, userFields } = this.#context;
    const { headers, auth } = await this.#options();
    const token = (await this.readTokenFile()) ?? (await this.#oidc?.idToken());
    const all: Headers = {
      ...(user.username && auth && { authorization: `Basic ${Buffer.from(auth).toString('base64')}` }),
      ...lowerCase(headers),
      ...(token && { authorization: `Bearer ${token}` }),
      ...impersonation(userFields),
    };
    this.#authorization = all['authorization'];
    return all;
  }

  async tls(): Promise<ConnectionOptions> {
    const { ca, cert, key, servername, rejectUnauthorized } = await this.#options();
    const { cluster } = this.#context;
    // The agent for SOCKS does not pass on the address that the certificate is for.
    const checkServerIdentity: ConnectionOptions['checkServerIdentity'] = cluster.proxyUrl
      ? (_host, certificate) => tls.checkServerIdentity(servername ?? hostOf(cluster), certificate)
      : undefined;
    const options: ConnectionOptions = { ca, cert, key, servername, checkServerIdentity };
    // node:tls treats an undefined option differently from an absent option.
    const present = Object.entries(options).filter(([, value]) => value !== undefined);
    // Without a value, client-node lets NODE_TLS_REJECT_UNAUTHORIZED decide.
    return { ...Object.fromEntries(present), rejectUnauthorized: rejectUnauthorized ?? true };
  }

  /**
   * KubeConfig has no way to drop a credential, so the next call uses another KubeConfig. A late 401 for an earlier
   * credential must not drop the current one.
   */
  invalidate(rejected: Headers): void {
    if (rejected['authorization'] !== this.#authorization) return;
    this.#authorization = undefined;
    this.#config = undefined;
    this.#tokenFile?.invalidate();
  }

  /** Concurrent calls share one run of the exec plugin. */
  #options(): Promise<https.RequestOptions> {
    this.#applying ??= this.#apply().finally(() => {
      this.#applying = undefined;
    });
    return this.#applying;
  }

  async #apply(): Promise<https.RequestOptions> {
    const { cluster, user } = this.#context;
    const config = this.#config ?? kubeConfigOf(cluster, this.#user);
    this.#config = config;
    const options: https.RequestOptions = { headers: {} };
    try {
      assertNonInteractive(user);
      const applied = config.applyToHTTPSOptions(options);
      await (user.exec ? withinTime(applied, this.#pluginSeconds) : applied);
      const { authorization } = lowerCase(options.headers);
      if (user.exec && !authorization && !(options.cert && options.key))
        throw new PluginProblem(NO_CREDENTIAL);
    } catch (error) {
      // client-node caches what the plugin printed, valid or not.
      if (this.#config === config) this.#config = undefined;
      throw isFileError(error) || !user.exec ? error : pluginFailure(user, error);
    }
    return options;
  }
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

const hostOf = ({ server }: Cluster) => new URL(server).hostname.replace(/^\[|\]$/g, '');

/** Names of headers as HTTP/2 requires them. */
function lowerCase(headers: https.RequestOptions['headers']): Headers {
  const entries = Object.entries((headers ?? {}) as Headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}

/** A certificate or key cannot be read. */
function isFileError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === 'open';
}

/** kubectl waits for a plugin without a limit. A role must not. */
async function withinTime<T>(run: Promise<T>, seconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    const problem = new PluginProblem(`did not exit within ${seconds} s`);
    timer = setTimeout(() => reject(problem), seconds * 1000);
  });
  return Promise.race([run, timeout]).finally(() => clearTimeout(timer));
}
