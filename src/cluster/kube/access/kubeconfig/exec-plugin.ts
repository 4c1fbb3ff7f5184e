import type { Cluster, User } from '@kubernetes/client-node';

/** API versions of exec plugins that kubectl supports, the current one first. */
export const EXEC_API_VERSIONS: readonly string[] = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
];

const NOT_FOUND = 'berth: the plugin was not found';

/**
 * client-node keeps the standard input of a plugin open, so a plugin that reads it would wait forever. It also never
 * ends a plugin. `timeout` ends the plugin and its children. macOS does not have this program.
 */
const script = (seconds: number) => `
command -v "$0" > /dev/null || { echo "${NOT_FOUND}" >&2; exit 127; }
limit=; command -v timeout > /dev/null && limit="timeout -k 5 ${seconds}"
exec $limit "$0" "$@" < /dev/null`;

export interface PluginContext {
  cluster: Cluster;
  /** Certificate authority of the cluster, PEM. */
  ca: string | undefined;
  settings: unknown;
  /** The plugin is ended after this time. */
  seconds: number;
}

/** The user with a plugin that gets the same input as from kubectl: KUBERNETES_EXEC_INFO, and no standard input. */
export function withPluginInput(user: User, context: PluginContext): User {
  const { exec } = user;
  if (!exec) return user;
  const info = {
    apiVersion: exec.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(exec.provideClusterInfo && { cluster: clusterInfo(context) }) },
  };
  return {
    ...user,
    exec: {
      ...exec,
      command: '/bin/sh',
      args: ['-c', script(context.seconds), exec.command, ...(exec.args ?? [])],
      env: [...(exec.env ?? []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
    },
  };
}

function clusterInfo({ cluster, ca, settings }: PluginContext): object {
  return {
    server: cluster.server,
    ...(cluster.tlsServerName && { 'tls-server-name': cluster.tlsServerName }),
    ...(cluster.skipTLSVerify && { 'insecure-skip-tls-verify': true }),
    ...(ca && { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(cluster.proxyUrl && { 'proxy-url': cluster.proxyUrl }),
    ...(settings !== undefined && { config: settings }),
  };
}

/** A problem whose message contains no output of the plugin. */
export class PluginProblem extends Error {}

/** @throws PluginProblem for a plugin that must ask the user, which a role cannot do */
export function assertNonInteractive({ exec }: User): void {
  if (exec?.interactiveMode === 'Always')
    throw new PluginProblem('needs a terminal (interactiveMode: Always)');
}

/** client-node sends a request without credentials if the plugin printed none. */
export const NO_CREDENTIAL = 'printed no ExecCredential with a token or a certificate and key';

/** The error without the output of the plugin, which may contain a token. */
export function pluginFailure({ exec }: User, error: unknown): Error {
  const why = reasonOf(error as Error, exec.installHint ?? '');
  return new Error(`failed to get credentials: the kubeconfig's exec plugin ${exec.command} ${why}`);
}

function reasonOf(error: Error, installHint: string): string {
  if (error instanceof PluginProblem) return error.message;
  if (error instanceof SyntaxError) return 'did not print JSON';
  // client-node reads fields of a status that is not there.
  if (error instanceof TypeError) return NO_CREDENTIAL;
  // The message is what the plugin, or the script, wrote to standard error.
  if (error.message.trim() === NOT_FOUND) return `was not found. ${installHint}`.trim();
  return 'failed; run it to see its error';
}
