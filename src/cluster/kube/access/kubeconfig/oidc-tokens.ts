import { chmod, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises';
import https from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { bufferFromFileOrString, KubeConfig, type User } from '@kubernetes/client-node';
import { isSeq, parseDocument } from 'yaml';

/** A token is refreshed this long before it expires, as in kubectl. */
const EXPIRY_MARGIN_MS = 10_000;
const TIMEOUT_MS = 15_000;

/** The `auth-provider` named oidc, with the names of the kubeconfig. */
interface OidcSettings {
  'idp-issuer-url'?: string;
  'client-id'?: string;
  'client-secret'?: string;
  'id-token'?: string;
  'refresh-token'?: string;
  'idp-certificate-authority'?: string;
  'idp-certificate-authority-data'?: string;
}

interface TokenResponse {
  id_token?: string;
  refresh_token?: string;
}

/**
 * The ID token of a user, refreshed as kubectl does. client-node reads the settings, but its own refresh sends no
 * client secret, and loses the refresh token if the issuer does not send another one.
 */
export class OidcTokens {
  readonly #userName: string;
  readonly #file: string | undefined;
  #settings: OidcSettings;
  /** If the file cannot be written, its tokens are older than those of `#settings`. */
  #inFile: OidcSettings;
  #refreshing: Promise<string> | undefined;

  constructor(user: User, file: string | undefined) {
    this.#userName = user.name;
    this.#file = file;
    this.#settings = { ...(user.authProvider.config as OidcSettings | undefined) };
    this.#inFile = this.#settings;
  }

  async idToken(): Promise<string> {
    const token = this.#validToken();
    if (token !== undefined) return token;
    this.#refreshing ??= this.#renew().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  #validToken(): string | undefined {
    const token = this.#settings['id-token'];
    return token && expiryOf(token) - EXPIRY_MARGIN_MS > Date.now() ? token : undefined;
  }

  /** An issuer may accept a refresh token only once, and another process may have used it and stored the new one. */
  async #renew(): Promise<string> {
    await this.#readFile();
    try {
      return this.#validToken() ?? (await this.#refresh());
    } catch (error) {
      if (!(await this.#readFile())) throw error;
      return this.#validToken() ?? this.#refresh();
    }
  }

  /** @returns whether the settings in the file have changed */
  async #readFile(): Promise<boolean> {
    const inFile = await storedSettings(this.#file, this.#userName).catch(() => undefined);
    if (inFile === undefined || isDeepStrictEqual(inFile, this.#inFile)) return false;
    this.#settings = inFile;
    this.#inFile = inFile;
    return true;
  }

  async #refresh(): Promise<string> {
    const { 'idp-issuer-url': issuer, 'client-id': client, 'refresh-token': refreshToken } = this.#settings;
    const fail = (why: string) =>
      new Error(`failed to get credentials: the kubeconfig's auth-provider oidc: ${why}`);
    if (!issuer || !client) throw fail('idp-issuer-url and client-id are required');
    if (!refreshToken) throw fail('the id-token has expired, and there is no refresh-token; log in again');
    let tokens: TokenResponse;
    try {
      tokens = await this.#request(issuer, refreshToken);
    } catch (error) {
      throw fail(`the issuer ${issuer} did not refresh the token: ${(error as Error).message}`);
    }
    if (!tokens.id_token) throw fail(`the issuer ${issuer} sent no id_token`);
    const renewed = { 'id-token': tokens.id_token, 'refresh-token': tokens.refresh_token || refreshToken };
    this.#settings = { ...this.#settings, ...renewed };
    // Other processes, such as kubectl, need the new tokens. A read-only file stays as it is.
    const stored = await storeTokens(this.#file, this.#userName, renewed).catch(() => false);
    if (stored) this.#inFile = this.#settings;
    return tokens.id_token;
  }

  async #request(issuer: string, refreshToken: string): Promise<TokenResponse> {
    const settings = this.#settings;
    const ca = bufferFromFileOrString(
      settings['idp-certificate-authority'],
      settings['idp-certificate-authority-data'],
    );
    const call = <T>(url: string, options: https.RequestOptions = {}, body?: string) =>
      fetchJson<T>(url, { ...options, ...(ca && { ca }) }, body);
    const discovery = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const { token_endpoint: endpoint } = await call<{ token_endpoint?: string }>(discovery);
    if (!endpoint) throw new Error('its configuration has no token_endpoint');

    const { 'client-id': id = '', 'client-secret': secret = '' } = settings;
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const post = (auth: string | undefined, fields: Record<string, string>): Promise<TokenResponse> => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      return call(endpoint, { method: 'POST', headers, auth }, String(new URLSearchParams(fields)));
    };
    // As kubectl: first as a header, and then, because some issuers accept only this, in the body.
    const header = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
    return post(header, form).catch(() =>
      post(undefined, { ...form, client_id: id, ...(secret && { client_secret: secret }) }),
    );
  }
}

/** When a token expires, in ms since the epoch. 0: unknown. */
function expiryOf(token: string): number {
  try {
    const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
    return Number((JSON.parse(payload) as { exp?: number }).exp ?? 0) * 1000;
  } catch {
    return 0;
  }
}

/** Errors contain the status, never the body: it may contain a token. */
function fetchJson<T>(url: string, options: https.RequestOptions, body?: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = https.request(
      url,
      { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`));
          try {
            resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')));
          } catch {
            reject(new Error('the response is not JSON'));
          }
        });
      },
    );
    request.once('error', reject);
    request.end(body);
  });
}

async function storedSettings(file: string | undefined, userName: string): Promise<OidcSettings | undefined> {
  if (file === undefined) return undefined;
  const config = new KubeConfig();
  config.loadFromString(await readFile(file, 'utf8'), { onInvalidEntry: 'filter' });
  return config.getUser(userName)?.authProvider?.config;
}

/**
 * Writes the tokens of a user to the kubeconfig. Comments and other entries stay.
 * @returns false: the file has no such user
 */
async function storeTokens(
  file: string | undefined,
  userName: string,
  tokens: Readonly<Record<string, string>>,
): Promise<boolean> {
  if (file === undefined) return false;
  const target = await realpath(file);
  const document = parseDocument(await readFile(target, 'utf8'));
  const users = document.get('users');
  const index = isSeq(users)
    ? users.items.findIndex((_user, at) => users.getIn([at, 'name']) === userName)
    : -1;
  if (index < 0) return false;
  for (const [name, value] of Object.entries(tokens)) {
    document.setIn(['users', index, 'user', 'auth-provider', 'config', name], value);
  }
  const { mode } = await stat(target);
  const temporary = `${target}.berth-${process.pid}`;
  await writeFile(temporary, document.toString({ lineWidth: 0 }), { mode: 0o600 });
  await chmod(temporary, mode);
  await rename(temporary, target);
  return true;
}
