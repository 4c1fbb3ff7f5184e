/** Ways to authenticate, without exec plugins. */
import { selfSigned } from '../../../../unit/cluster/kube/self-signed.ts';
import { base64, type Row, writeFile } from './world.ts';

export const USER_ROWS: readonly Row[] = [
  ['a token', 'user token-user', ({ server }) => ({ user: { token: server.token } })],
  ['a wrong token', 'unauthorized', () => ({ user: { token: 'wrong' } })],
  [
    'a token file with a relative path',
    'user token-user',
    ({ server }) =>
      (at) => ({ user: { tokenFile: writeFile(at, 'token', `${server.token}\n`) } }),
  ],
  [
    'a token and a token file',
    'user token-user',
    ({ server }) =>
      (at) => ({ user: { token: 'wrong', tokenFile: writeFile(at, 'token', server.token) } }),
  ],
  ['a missing token file', 'configuration', () => ({ user: { tokenFile: 'missing' } })],
  [
    'the data of a client certificate',
    'user certificate-user',
    ({ server }) => {
      const { cert, key } = server.certificateOf('certificate-user');
      return { user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } };
    },
  ],
  [
    'the files of a client certificate with relative paths',
    'user file-user',
    ({ server }) =>
      (at) => {
        const { cert, key } = server.certificateOf('file-user');
        const files = {
          'client-certificate': writeFile(at, 'crt', cert),
          'client-key': writeFile(at, 'key', key),
        };
        return { user: files };
      },
  ],
  [
    'a client certificate of another authority',
    'unauthorized',
    () => {
      const { cert, key } = selfSigned();
      return { user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } };
    },
  ],
  [
    'a client certificate without a key',
    'configuration',
    () => ({ user: { 'client-certificate-data': base64(selfSigned().cert) } }),
  ],
  [
    'a missing client certificate',
    'configuration',
    () => ({ user: { 'client-certificate': 'x', 'client-key': 'y' } }),
  ],
  // API servers support no passwords, so the user is anonymous.
  ['a password', 'forbidden', () => ({ user: { username: 'u', password: 'p' } })],
  [
    'a token and a password',
    'configuration',
    ({ server }) => ({ user: { token: server.token, username: 'u', password: 'p' } }),
  ],
  [
    'impersonation without the right to it',
    'forbidden',
    ({ server }) => ({ user: { token: server.token, as: 'someone', 'as-groups': ['system:authenticated'] } }),
  ],
  [
    'groups to impersonate without a user',
    'configuration',
    ({ server }) => ({ user: { token: server.token, 'as-groups': ['g'] } }),
  ],
];
