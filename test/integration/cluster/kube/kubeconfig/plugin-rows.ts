/** Exec plugins and auth-providers. */
import { credential, plugin, type Row, V1, writeFile } from './world.ts';

export const PLUGIN_ROWS: readonly Row[] = [
  [
    'a plugin that prints a token',
    'user token-user',
    ({ server }) =>
      (at) => ({ user: plugin(at, credential({ token: server.token })) }),
  ],
  [
    'a plugin of v1beta1 without a mode',
    'user token-user',
    ({ server }) =>
      (at) => {
        const apiVersion = 'client.authentication.k8s.io/v1beta1';
        const script = credential({ token: server.token }, apiVersion);
        return { user: plugin(at, script, { apiVersion, interactiveMode: undefined }) };
      },
  ],
  [
    'a plugin that prints a certificate',
    'user plugin-user',
    ({ server }) =>
      (at) => {
        const { cert, key } = server.certificateOf('plugin-user');
        const status = JSON.stringify({ clientCertificateData: cert, clientKeyData: key });
        writeFile(at, 'output', `{"apiVersion":"${V1}","kind":"ExecCredential","status":${status}}`);
        return { user: plugin(at, 'cat "$(dirname "$0")/output"') };
      },
  ],
  [
    'a plugin with arguments and variables, that needs the cluster',
    'user token-user',
    ({ server }) =>
      (at) => {
        const script = `
        [ "$1 $NAME" = 'get value' ] || exit 1
        case "$KUBERNETES_EXEC_INFO" in *'"server":"${server.url}"'*) ;; *) exit 1 ;; esac
        ${credential({ token: server.token })}`;
        const env = [{ name: 'NAME', value: 'value' }];
        return { user: plugin(at, script, { args: ['get'], env, provideClusterInfo: true }) };
      },
  ],
  ['a plugin that fails', 'credentials', () => (at) => ({ user: plugin(at, 'exit 1') })],
  ['a plugin that prints no JSON', 'credentials', () => (at) => ({ user: plugin(at, 'echo no') })],
  ['a plugin that prints no credential', 'credentials', () => (at) => ({ user: plugin(at, credential({})) })],
  [
    'a plugin that prompts although it must not',
    'credentials',
    ({ server }) =>
      (at) => ({ user: plugin(at, `read -r answer || exit 1; ${credential({ token: server.token })}`) }),
  ],
  [
    'a plugin that prompts if it can',
    'user token-user',
    ({ server }) =>
      (at) => {
        const script = `read -r answer; [ -z "$answer" ] && ${credential({ token: server.token })}`;
        return { user: plugin(at, script, { interactiveMode: 'IfAvailable' }) };
      },
  ],
  [
    'a plugin that must prompt, without a terminal',
    'credentials',
    ({ server }) =>
      (at) => ({ user: plugin(at, credential({ token: server.token }), { interactiveMode: 'Always' }) }),
  ],
  [
    'a missing plugin',
    'credentials',
    () => ({ user: { exec: { apiVersion: V1, command: 'berth-no-such', interactiveMode: 'Never' } } }),
  ],
  [
    'a plugin of v1 without a mode',
    'configuration',
    ({ server }) =>
      (at) => ({ user: plugin(at, credential({ token: server.token }), { interactiveMode: undefined }) }),
  ],
  [
    'a plugin of a version that was removed',
    'configuration',
    () => (at) => ({ user: plugin(at, 'exit 1', { apiVersion: 'client.authentication.k8s.io/v1alpha1' }) }),
  ],
  [
    'an auth-provider that was removed',
    'configuration',
    () => ({ user: { 'auth-provider': { name: 'gcp' } } }),
  ],
];
