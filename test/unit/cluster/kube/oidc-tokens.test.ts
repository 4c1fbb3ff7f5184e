import { mkdir, readFile, writeFile } from 'node:fs/promises';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadClusterAccess } from '../../../../src/cluster/kube/access/cluster-access.ts';
import { selfSigned } from './self-signed.ts';
import { temporaryFolder } from './support.ts';

/** An ID token with a number, which expires in an hour, or which has expired. */
function idToken(number: number, seconds = 3600): string {
  const payload = { number, exp: Math.floor(Date.now() / 1000) + seconds };
  return ['', JSON.stringify(payload), ''].map((part) => Buffer.from(part).toString('base64url')).join('.');
}

/**
 * An issuer whose refresh tokens `R1`, `R2`, … are valid once and in this order, and a kubeconfig with an expired ID token.
 * `beforeRefresh` runs before the issuer handles a refresh token.
 */
async function world({ beforeRefresh = async () => {} }: { beforeRefresh?: () => Promise<void> } = {}) {
  const file = path.join(await temporaryFolder(), 'config');
  const { cert, key } = selfSigned();
  const used: string[] = [];
  let valid = 1;
  const issuer = https.createServer({ cert, key }, async (request, response) => {
    if (request.method === 'GET') return response.end(JSON.stringify({ token_endpoint: `${url}/token` }));
    await beforeRefresh();
    let body = '';
    for await (const chunk of request) body += chunk;
    const token = new URLSearchParams(body).get('refresh_token') ?? '';
    if (token !== `R${valid}`) return response.writeHead(400).end('{}');
    used.push(token);
    valid += 1;
    return response.end(JSON.stringify({ id_token: idToken(valid, -1), refresh_token: `R${valid}` }));
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void issuer.close());
  const url = `https://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  const write = (tokens: Record<string, string>) => {
    const settings = {
      'idp-issuer-url': url,
      'idp-certificate-authority-data': Buffer.from(cert).toString('base64'),
      'client-id': 'berth',
      ...tokens,
    };
    const config = {
      clusters: [{ name: 'k', cluster: { server: 'https://10.0.0.1' } }],
      users: [{ name: 'u', user: { 'auth-provider': { name: 'oidc', config: settings } } }],
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
      'current-context': 'c',
    };
    return writeFile(file, JSON.stringify(config));
  };
  await write({ 'id-token': idToken(1, -1), 'refresh-token': 'R1' });
  return {
    file,
    write,
    used,
    /** Another process refreshes, and stores the tokens. */
    refreshElsewhere: async (token: string) => {
      valid += 1;
      await write({ 'id-token': token, 'refresh-token': `R${valid}` });
    },
  };
}

const numberOf = ({ authorization }: Record<string, string | string[]>): unknown =>
  JSON.parse(Buffer.from(String(authorization).split('.')[1] ?? '', 'base64url').toString()).number;

test('a token that another process refreshed and stored is used', async () => {
  const { file, used, refreshElsewhere } = await world();
  const access = await loadClusterAccess({ kubeconfigPath: file });
  await refreshElsewhere(idToken(7));
  expect(numberOf(await access.headers())).toBe(7);
  expect(used).toEqual([]);
});

test('the refresh token that another process stored is used when its ID token has expired too', async () => {
  const { file, used, refreshElsewhere } = await world();
  const access = await loadClusterAccess({ kubeconfigPath: file });
  await refreshElsewhere(idToken(7, -1));
  expect(numberOf(await access.headers())).toBe(3);
  expect(used).toEqual(['R2']);
});

test('the tokens in the file are used when another process refreshes at the same time', async () => {
  let isFirst = true;
  const { file, used, refreshElsewhere } = await world({
    beforeRefresh: async () => {
      if (isFirst) await refreshElsewhere(idToken(7));
      isFirst = false;
    },
  });
  const access = await loadClusterAccess({ kubeconfigPath: file });
  expect(numberOf(await access.headers())).toBe(7);
  expect(used).toEqual([]);
});

test('tokens that cannot be stored are kept, although the file has older ones', async () => {
  const { file, used, write } = await world();
  const access = await loadClusterAccess({ kubeconfigPath: file });
  const before = await readFile(file, 'utf8');
  // The temporary file of a write cannot be created.
  await mkdir(`${file}.berth-${process.pid}`);
  for (const expected of [2, 3, 4]) expect(numberOf(await access.headers())).toBe(expected);
  expect(await readFile(file, 'utf8')).toBe(before);
  expect(used).toEqual(['R1', 'R2', 'R3']);
  await write({ 'id-token': idToken(7) });
  expect(numberOf(await access.headers())).toBe(7);
});
