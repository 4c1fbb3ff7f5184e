import type { ClientSettings } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import type { StoredContext } from './store.ts';

/** How a command authenticates: with an API key, an access token, or the token of a pipeline that it exchanges. */

export type IdToken = { readonly value: string } | { readonly file: string };

export type Credential =
  | { readonly apiKey: string }
  | { readonly accessToken: string }
  | { readonly idToken: IdToken };

/** Valid characters of a header: visible ASCII. */
const HEADER_VALUE = /^[\x21-\x7e]+$/;

/** @throws UsageError without the value, because it may contain a key */
export function headerValue(source: string, value: string): string {
  if (!HEADER_VALUE.test(value))
    throw new UsageError(
      `${source} contains characters that are not visible ASCII: check that it was copied correctly`,
    );
  return value;
}

type Secrets = Pick<ClientSettings, 'apiKey' | 'idToken' | 'idTokenFile'>;

/** The variable that authenticates the commands; null: none is set. A key takes precedence over tokens of pipelines. */
export function secretVariable({ apiKey, idToken, idTokenFile }: Secrets): string | null {
  if (apiKey) return 'BERTH_API_KEY';
  if (idToken) return 'BERTH_ID_TOKEN';
  return idTokenFile ? 'BERTH_ID_TOKEN_FILE' : null;
}

/** The token of a pipeline in the environment; null: none is set. */
export function idTokenOf({ idToken, idTokenFile }: Omit<Secrets, 'apiKey'>): IdToken | null {
  if (idToken) return { value: idToken };
  return idTokenFile ? { file: idTokenFile } : null;
}

/** @throws UsageError when the key is malformed */
export function environmentCredential(settings: Secrets): Credential | null {
  if (settings.apiKey) return { apiKey: headerValue('BERTH_API_KEY', settings.apiKey) };
  const idToken = idTokenOf(settings);
  return idToken === null ? null : { idToken };
}

/** @throws UsageError when the key is malformed, or the token has expired */
export function storedCredential(name: string, context: StoredContext, now: Date): Credential {
  if ('api_key' in context) return { apiKey: headerValue(`the key of the context ${name}`, context.api_key) };
  const { access_token: accessToken, expires_at: end } = context;
  if (Date.parse(end) <= now.getTime())
    throw new UsageError(`the login of the context ${name} expired at ${end}: run berth login`, 1);
  return { accessToken: headerValue(`the token of the context ${name}`, accessToken) };
}
