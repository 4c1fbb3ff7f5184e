import { execFile } from 'node:child_process';
import type { ExecPlugin, KubeconfigCluster } from './kubeconfig.ts';

const PLUGIN_TIMEOUT_MS = 60_000;
/** Time between the renewal of a credential and its expiry. */
const EXPIRY_MARGIN_MS = 30_000;

export interface ExecCredential {
  token?: string;
  clientCertificateData?: string;
  clientKeyData?: string;
  /** Milliseconds since the epoch; absent: valid until the server rejects it. */
  expiresAt?: number;
}

interface CredentialObject {
  kind?: string;
  status?: {
    token?: string;
    clientCertificateData?: string;
    clientKeyData?: string;
    expirationTimestamp?: string;
  };
}

/**
 * Client for a credential plugin of a kubeconfig (`users[].user.exec`, client.authentication.k8s.io v1 and v1beta1).
 * Caches the credential until shortly before it expires. Concurrent calls share one run of the plugin.
 */
export class ExecPluginClient {
  readonly #plugin: ExecPlugin;
  readonly #cluster: KubeconfigCluster;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  #credential: ExecCredential | undefined;
  #running: Promise<ExecCredential> | undefined;

  constructor(
    plugin: ExecPlugin,
    cluster: KubeconfigCluster,
    environment: Readonly<Record<string, string | undefined>>,
  ) {
    this.#plugin = plugin;
    this.#cluster = cluster;
    this.#environment = environment;
  }

  async credential(): Promise<ExecCredential> {
    const known = this.#credential;
    if (known && (known.expiresAt === undefined || known.expiresAt - EXPIRY_MARGIN_MS > Date.now()))
      return known;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    this.#credential = await this.#running;
    return this.#credential;
  }

  /** Called when the server rejected the credential: the next call runs the plugin again. */
  invalidate(): void {
    this.#credential = undefined;
  }

  async #run(): Promise<ExecCredential> {
    const { command, args, env, installHint } = this.#plugin;
    const environment = {
      ...this.#environment,
      ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(this.#execInfo()),
    };
    const output = await new Promise<string>((resolve, reject) => {
      execFile(
        command,
        args ?? [],
        { env: environment, timeout: PLUGIN_TIMEOUT_MS, maxBuffer: 1024 * 1024 },
        (error, stdout) => {
          if (error === null) return resolve(stdout);
          // The output of the plugin is not part of the message, because it may contain a token.
          const why =
            error.code === 'ENOENT' ? `not found. ${installHint ?? ''}`.trim() : `exited with ${error.code}`;
          reject(new Error(`failed to get credentials: the kubeconfig's exec plugin ${command}: ${why}`));
        },
      ).stdin?.end();
    });
    return parseCredential(output, command);
  }

  #execInfo(): object {
    const cluster = this.#cluster;
    return {
      apiVersion: this.#plugin.apiVersion,
      kind: 'ExecCredential',
      spec: {
        interactive: false,
        ...(this.#plugin.provideClusterInfo && {
          cluster: {
            server: cluster.server,
            'tls-server-name': cluster['tls-server-name'],
            'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'],
            'certificate-authority-data': cluster['certificate-authority-data'],
          },
        }),
      },
    };
  }
}

function parseCredential(output: string, command: string): ExecCredential {
  let parsed: CredentialObject;
  try {
    parsed = JSON.parse(output) as CredentialObject;
  } catch {
    throw new Error(`failed to get credentials: exec plugin ${command} did not print JSON`);
  }
  const status = parsed.status;
  if (parsed.kind !== 'ExecCredential' || (!status?.token && !status?.clientCertificateData)) {
    throw new Error(
      `failed to get credentials: exec plugin ${command} printed no ExecCredential with a status`,
    );
  }
  const expiresAt = status.expirationTimestamp ? Date.parse(status.expirationTimestamp) : Number.NaN;
  return {
    token: status.token,
    clientCertificateData: status.clientCertificateData,
    clientKeyData: status.clientKeyData,
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
  };
}
