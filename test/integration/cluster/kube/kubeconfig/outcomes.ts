/** Who kubectl and Berth are for an API server when they use the same kubeconfig, or why they fail. */
import { execFile } from 'node:child_process';
import { createKubeClient } from '../../../../../src/cluster/kube/client/client.ts';
import { isKubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import { environment } from '../../../harness/environment.ts';

/** `user NAME`, or the class of the failure. */
export type Outcome = string;

/** Rejected before a connection, no credentials, rejected by the server, TLS, or no connection. */
type Failure = 'configuration' | 'credentials' | 'unauthorized' | 'forbidden' | 'tls' | 'network' | 'prompt';

const KUBECTL_FAILURES: readonly (readonly [RegExp, Failure])[] = [
  [
    /getting credentials|No valid id-token|failed to refresh token|oauth2|openid-configuration/i,
    'credentials',
  ],
  [/error loading config|context was not found|context .* does not exist/i, 'configuration'],
  [
    /must be specified|both specified|only one is allowed|not allowed|without impersonating/i,
    'configuration',
  ],
  [/unable to read|no such file|invalid apiVersion|invalid 'proxy-url'|removed/i, 'configuration'],
  [/must be logged in|asked for the client to provide credentials|Unauthorized/i, 'unauthorized'],
  [/do not have permission/i, 'forbidden'],
  [/x509|tls:/i, 'tls'],
  [/refused|proxyconnect|Proxy Authentication Required|unable to connect/i, 'network'],
  // kubectl asks for a password.
  [/EOF/, 'prompt'],
];

/** @param files one kubeconfig, or several joined by `:` */
export function outcomeOfKubectl(files: string, cacheDir: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const args = ['auth', 'whoami', '-o', 'json', `--cache-dir=${cacheDir}`, '--request-timeout=20s'];
    const env = { ...process.env, KUBECONFIG: files };
    const child = execFile(
      environment().kubectlPath,
      args,
      { env, timeout: 60_000 },
      (error, stdout, stderr) => {
        if (error === null) return resolve(`user ${userOf(JSON.parse(stdout))}`);
        const known = KUBECTL_FAILURES.find(([pattern]) => pattern.test(stderr));
        resolve(known?.[1] ?? `unknown: ${stderr}`);
      },
    );
    child.stdin?.end();
  });
}

export interface BerthSession {
  outcome(): Promise<Outcome>;
  close(): Promise<void>;
}

/** Several calls with one client, as a role makes them. */
export async function berthSession(files: string): Promise<BerthSession | Failure> {
  const options = { userAgent: 'berth-kubeconfig-test', requestTimeoutMs: 20_000 };
  const client = await createKubeClient({ ...options, kubeconfigPath: files }).catch((error: Error) => {
    if (/^failed to read kubeconfig/.test(error.message)) return undefined;
    throw error;
  });
  if (client === undefined) return 'configuration';
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  return {
    outcome: async () => {
      try {
        const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
        const { body } = await client.request('POST', path, { body: review });
        return `user ${userOf(body)}`;
      } catch (error) {
        return failureOf(error);
      }
    },
    close: () => client.close(),
  };
}

export async function outcomeOfBerth(files: string): Promise<Outcome> {
  const session = await berthSession(files);
  if (typeof session === 'string') return session;
  try {
    return await session.outcome();
  } finally {
    await session.close();
  }
}

function userOf(review: unknown): string {
  return (review as { status: { userInfo: { username: string } } }).status.userInfo.username;
}

function failureOf(error: unknown): Outcome {
  if (!isKubeError(error)) throw error;
  if (error.kind === 'unauthorized') return error.status === 401 ? 'unauthorized' : 'credentials';
  if (error.kind === 'forbidden') return 'forbidden';
  if (error.kind === 'network') return /certificate|altname/i.test(error.message) ? 'tls' : 'network';
  return `unknown: ${error.message}`;
}
