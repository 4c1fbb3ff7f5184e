import type { Cluster, User } from '@kubernetes/client-node';
import { EXEC_API_VERSIONS } from './exec-plugin.ts';
import type { KubeconfigContext } from './kubeconfig-files.ts';

/**
 * What kubectl rejects or completes before it connects, and client-node does not
 * (docs/decisions/0072-read-kubeconfig-with-client-node.md).
 */

type Rule = readonly [isBroken: boolean, problem: string];

const PROXY_SCHEMES = ['http:', 'https:', 'socks5:'];
const INTERACTIVE_MODES = ['Never', 'IfAvailable', 'Always'];

/** The first reason why kubectl would not use the context. undefined: it would use it. */
export function kubeconfigProblem({ cluster, user, userFields }: KubeconfigContext): string | undefined {
  const impersonates = Object.keys(userFields).some((field) => field.startsWith('as-'));
  const rules: readonly Rule[] = [
    ...clusterRules(cluster),
    ...userRules(user),
    [impersonates && !user.impersonateUser, 'its user has as-uid, as-groups or as-user-extra, but no as'],
  ];
  return rules.find(([isBroken]) => isBroken)?.[1];
}

function clusterRules({ server, caData, caFile, proxyUrl, skipTLSVerify }: Cluster): readonly Rule[] {
  const proxy = proxyUrl ? URL.parse(proxyUrl) : undefined;
  return [
    [!URL.canParse(withScheme(server, false)), 'the server address of its cluster is not a URL'],
    [
      proxy === null || (proxy !== undefined && !PROXY_SCHEMES.includes(proxy.protocol)),
      'the proxy-url of its cluster is not a URL with http, https or socks5',
    ],
    [both(caData, caFile), 'its cluster has both certificate-authority and certificate-authority-data'],
    [
      skipTLSVerify && Boolean(caData || caFile),
      'its cluster has a certificate authority and insecure-skip-tls-verify',
    ],
  ];
}

function userRules(user: User): readonly Rule[] {
  const { certData, certFile, keyData, keyFile, token, username, password, exec, authProvider } = user;
  return [
    [both(certData, certFile), 'its user has both client-certificate and client-certificate-data'],
    [both(keyData, keyFile), 'its user has both client-key and client-key-data'],
    [
      Boolean(certData || certFile) && !(keyData || keyFile),
      'its user has a client certificate without a key',
    ],
    [both(token, username || password), 'its user has a token and a password; only one is allowed'],
    [both(exec, authProvider), 'its user has both an auth-provider and an exec plugin'],
    [
      Boolean(authProvider) && authProvider.name !== 'oidc',
      `auth-provider ${authProvider?.name} is not supported (Kubernetes removed it in 1.26); use an exec plugin or a token`,
    ],
    ...(exec ? pluginRules(exec) : []),
  ];
}

function pluginRules(exec: NonNullable<User['exec']>): readonly Rule[] {
  const [v1] = EXEC_API_VERSIONS;
  const { apiVersion, command, interactiveMode } = exec;
  return [
    [!command, 'its exec plugin has no command'],
    [
      !EXEC_API_VERSIONS.includes(apiVersion),
      `its exec plugin needs apiVersion ${EXEC_API_VERSIONS.join(' or ')}`,
    ],
    [
      apiVersion === v1 && !interactiveMode,
      `its exec plugin needs interactiveMode: ${INTERACTIVE_MODES.join(', ')}`,
    ],
    [
      Boolean(interactiveMode) && !INTERACTIVE_MODES.includes(interactiveMode),
      `the interactiveMode of its exec plugin is not one of ${INTERACTIVE_MODES.join(', ')}`,
    ],
  ];
}

const both = (one: unknown, other: unknown) => Boolean(one) && Boolean(other);

/** As kubectl: an address without a scheme is http, or https if the context has TLS settings. */
function withScheme(server: string, isTls: boolean): string {
  return /^https?:\/\//.test(server) ? server : `${isTls ? 'https' : 'http'}://${server}`;
}

/** The cluster in the form in which client-node treats it as kubectl does. */
export function completedCluster(cluster: Cluster, user: User): Cluster {
  const { caData, caFile, skipTLSVerify, proxyUrl } = cluster;
  const isTls = Boolean(caData || caFile || skipTLSVerify || user.certData || user.certFile);
  const server = withScheme(cluster.server, isTls);
  return {
    ...cluster,
    server,
    // client-node rejects http unless this is set, which has no other effect there.
    skipTLSVerify: skipTLSVerify || server.startsWith('http:'),
    // kubectl lets a SOCKS proxy resolve names. The agent of client-node does this for socks5h only.
    ...(proxyUrl && { proxyUrl: proxyUrl.replace(/^socks5:/, 'socks5h:') }),
  };
}
