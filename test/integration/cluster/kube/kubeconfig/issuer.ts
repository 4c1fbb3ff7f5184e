/** An OpenID Connect issuer that refreshes tokens. */

import { randomBytes } from 'node:crypto';
import https from 'node:https';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { close, listen, portOf } from '../../../../faults/proxies/client-port.ts';
import { selfSigned } from '../../../../unit/cluster/kube/self-signed.ts';

export const AUDIENCE = 'berth-test';
export const CLIENT_SECRET = 'secret of the client';

/** How the issuer accepts the client secret. */
export type SecretPlace = 'header' | 'body';

export interface Issuer {
  readonly url: string;
  readonly caPem: string;
  idToken(user: string, lifetime: string): Promise<string>;
  /** A refresh token that is valid once. */
  refreshToken(user: string): string;
  /** Number of successful refreshes. */
  refreshes(): number;
  acceptSecretIn(place: SecretPlace): void;
  stop(): Promise<void>;
}

export async function startIssuer(): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'key', alg: 'RS256', use: 'sig' };
  const certificate = selfSigned();
  const users = new Map<string, string>();
  let refreshes = 0;
  let secretPlace: SecretPlace = 'header';
  let url = '';

  const idToken = (user: string, lifetime: string) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'RS256', kid: 'key' })
      .setIssuer(url)
      .setSubject(user)
      .setAudience(AUDIENCE)
      .setIssuedAt(Math.floor(Date.now() / 1000) - 7200)
      .setExpirationTime(lifetime)
      .sign(privateKey);
  const refreshToken = (user: string) => {
    const token = randomBytes(16).toString('hex');
    users.set(token, user);
    return token;
  };

  async function refresh(
    form: URLSearchParams,
    authorization: string | undefined,
  ): Promise<object | undefined> {
    const basic = Buffer.from(`${AUDIENCE}:${encodeURIComponent(CLIENT_SECRET)}`).toString('base64');
    const goBasic = Buffer.from(`${AUDIENCE}:${CLIENT_SECRET.replaceAll(' ', '+')}`).toString('base64');
    const isAuthentic =
      secretPlace === 'header'
        ? [`Basic ${basic}`, `Basic ${goBasic}`].includes(authorization ?? '')
        : form.get('client_id') === AUDIENCE && form.get('client_secret') === CLIENT_SECRET;
    const token = form.get('refresh_token') ?? '';
    const user = users.get(token);
    if (!isAuthentic || form.get('grant_type') !== 'refresh_token' || user === undefined) return undefined;
    users.delete(token);
    refreshes += 1;
    return {
      token_type: 'Bearer',
      access_token: 'unused',
      id_token: await idToken(user, '1h'),
      refresh_token: refreshToken(user),
    };
  }

  const server = https.createServer(certificate, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
    const bodies: Record<string, () => Promise<object | undefined>> = {
      '/.well-known/openid-configuration': async () => ({
        issuer: url,
        jwks_uri: `${url}/keys`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        response_types_supported: ['id_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      }),
      '/keys': async () => ({ keys: [jwk] }),
      '/token': () => refresh(form, request.headers.authorization),
    };
    const body = await bodies[request.url ?? '']?.();
    const content = JSON.stringify(body ?? { error: 'invalid_request' });
    response.writeHead(body === undefined ? 400 : 200, { 'content-type': 'application/json' }).end(content);
  });
  await listen(server);
  url = `https://127.0.0.1:${portOf(server)}`;
  return {
    url,
    caPem: certificate.cert,
    idToken,
    refreshToken,
    refreshes: () => refreshes,
    acceptSecretIn: (place) => {
      secretPlace = place;
    },
    stop: () => close(server),
  };
}
