/** A real identity provider (oidc-provider) on a local port, whose people sign in without a page. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

/** A person at the identity provider. */
export interface KnownPerson {
  readonly sub: string;
  readonly email?: string;
  readonly groups?: readonly string[];
}

/** Replaces the ID token of an answer of the token endpoint. `key`: the current private key of the provider. */
export type Forge = (idToken: string, key: JWK) => Promise<string>;

export interface TestProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whom the provider signs in, and how it changes tokens. */
  person: KnownPerson;
  forge: Forge | null;
  /** Replaces the keys that sign, without the former ones. */
  rotateKeys(): Promise<void>;
  /** Stops to answer, without giving up the port. */
  setDown(isDown: boolean): void;
  /** Number of requests that each path got. */
  readonly requests: ReadonlyMap<string, number>;
  /**
   * Follows the redirects of a sign-in as a browser does.
   * @returns the URL of the callback, to which the provider sends the browser
   */
  signIn(authorizationUrl: string): Promise<URL>;
  stop(): Promise<void>;
}

const CLIENT = { clientId: 'berth', clientSecret: 'client-secret-of-the-tests' };

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg: 'RS256', use: 'sig' };
}

function configurationOf(redirectUris: string[], key: JWK, current: TestProvider): Configuration {
  return {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: redirectUris,
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [key] } as NonNullable<Configuration['jwks']>,
    scopes: ['openid', 'profile', 'email', 'groups'],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    // Without userinfo, the claims of scopes are in the ID token.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['test'] },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: async () => ({ ...current.person, sub, email_verified: true }),
    }),
    async loadExistingGrant(ctx) {
      const { client, session, provider } = ctx.oidc;
      const grant = new provider.Grant({
        clientId: client?.clientId ?? '',
        accountId: session?.accountId ?? '',
      });
      grant.addOIDCScope('openid profile email groups');
      await grant.save();
      return grant;
    },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      Grant: 600,
    },
  };
}

/** A cookie jar of one browser, and where it is sent next. */
async function follow(start: URL, isEnd: (url: URL) => boolean): Promise<URL> {
  const jar = new Map<string, string>();
  let url = start;
  for (let hop = 0; hop < 10; hop += 1) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`failed to sign in: ${response.status} ${await response.text()}`);
    url = new URL(location, url);
    if (isEnd(url)) return url;
  }
  throw new Error('failed to sign in: too many redirects');
}

/** @param redirectUri the callback of the API */
export async function startIdentityProvider(redirectUri: string): Promise<TestProvider> {
  const server: Server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const requests = new Map<string, number>();
  let isDown = false;
  let key = await newKey();
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;

  const serve = (): void => {
    const provider = new Provider(issuer, configurationOf([redirectUri], key, fixture));
    const signing = key;
    provider.use(async (ctx, next) => {
      await next();
      const body = ctx.body as { id_token?: string } | undefined;
      if (ctx.path === '/token' && fixture.forge !== null && body?.id_token !== undefined)
        ctx.body = { ...body, id_token: await fixture.forge(body.id_token, signing) };
    });
    const callback = provider.callback();
    handle = (request, response) => {
      const path = request.url?.split('?', 1)[0] ?? '';
      requests.set(path, (requests.get(path) ?? 0) + 1);
      if (isDown) response.writeHead(503).end();
      else if (path.startsWith('/interaction/'))
        void provider.interactionFinished(request, response, { login: { accountId: fixture.person.sub } });
      else callback(request, response);
    };
  };

  const fixture: TestProvider = {
    issuer,
    ...CLIENT,
    person: { sub: 'nobody' },
    forge: null,
    requests,
    async rotateKeys() {
      key = await newKey();
      serve();
    },
    setDown: (down) => {
      isDown = down;
    },
    signIn: (url) => follow(new URL(url), (next) => next.href.startsWith(redirectUri)),
    async stop() {
      server.close();
      server.closeAllConnections();
    },
  };
  serve();
  server.on('request', (request, response) => handle(request, response));
  return fixture;
}
