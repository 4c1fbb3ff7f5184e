/** Ways to reach and to verify the server, and contexts. */
import { selfSigned } from '../../../../unit/cluster/kube/self-signed.ts';
import { base64, type Row, writeFile } from './world.ts';

/** Without an authority, so that the row decides how the server is verified. */
const unverified = { 'certificate-authority-data': undefined };

export const CLUSTER_ROWS: readonly Row[] = [
  [
    'a proxy',
    'user token-user',
    ({ server, proxies }) => ({ cluster: { 'proxy-url': proxies.open.url }, user: { token: server.token } }),
  ],
  [
    'a proxy with a password',
    'user token-user',
    ({ server, proxies }) => ({
      cluster: { 'proxy-url': proxies.closed.url },
      user: { token: server.token },
    }),
  ],
  [
    'a proxy that rejects the password',
    'network',
    ({ server, proxies }) => ({
      cluster: { 'proxy-url': proxies.closed.url.replace('password', 'x') },
      user: { token: server.token },
    }),
  ],
  [
    'a SOCKS proxy',
    'user token-user',
    ({ server, proxies }) => ({ cluster: { 'proxy-url': proxies.socks.url }, user: { token: server.token } }),
  ],
  [
    'a proxy and a client certificate',
    'user certificate-user',
    ({ server, proxies }) => {
      const { cert, key } = server.certificateOf('certificate-user');
      const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) };
      return { cluster: { 'proxy-url': proxies.open.url }, user };
    },
  ],
  [
    'a proxy that does not listen',
    'network',
    ({ server }) => ({ cluster: { 'proxy-url': 'http://127.0.0.1:1' }, user: { token: server.token } }),
  ],
  [
    'a proxy of an unknown kind',
    'configuration',
    ({ server }) => ({ cluster: { 'proxy-url': 'ftp://127.0.0.1' }, user: { token: server.token } }),
  ],

  ['no authority', 'tls', ({ server }) => ({ cluster: unverified, user: { token: server.token } })],
  [
    'a wrong authority',
    'tls',
    ({ server }) => ({
      cluster: { 'certificate-authority-data': base64(selfSigned().cert) },
      user: { token: server.token },
    }),
  ],
  [
    'an authority file with a relative path',
    'user token-user',
    ({ server }) =>
      (at) => ({
        cluster: { ...unverified, 'certificate-authority': writeFile(at, 'ca.crt', server.caPem) },
        user: { token: server.token },
      }),
  ],
  [
    'a missing authority file',
    'configuration',
    ({ server }) => ({
      cluster: { ...unverified, 'certificate-authority': 'missing' },
      user: { token: server.token },
    }),
  ],
  [
    'an authority that is given twice',
    'configuration',
    ({ server }) =>
      (at) => ({
        cluster: { 'certificate-authority': writeFile(at, 'ca.crt', server.caPem) },
        user: { token: server.token },
      }),
  ],
  [
    'insecure-skip-tls-verify',
    'user token-user',
    ({ server }) => ({
      cluster: { ...unverified, 'insecure-skip-tls-verify': true },
      user: { token: server.token },
    }),
  ],
  [
    'insecure-skip-tls-verify with an authority',
    'configuration',
    ({ server }) => ({ cluster: { 'insecure-skip-tls-verify': true }, user: { token: server.token } }),
  ],
  [
    'tls-server-name',
    'user token-user',
    ({ server }) => ({ cluster: { 'tls-server-name': 'kubernetes.default' }, user: { token: server.token } }),
  ],
  [
    'another tls-server-name',
    'tls',
    ({ server }) => ({ cluster: { 'tls-server-name': 'other.example' }, user: { token: server.token } }),
  ],

  [
    'a missing context',
    'configuration',
    ({ server }) => ({ user: { token: server.token }, file: { 'current-context': 'x' } }),
  ],
  [
    'a server that does not listen',
    'network',
    () => ({ cluster: { server: 'https://127.0.0.1:1' }, user: { token: 't' } }),
  ],
];
