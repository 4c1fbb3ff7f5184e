import type { ClientSettings, Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { createClient } from '../client.ts';
import type { CallOptions, Context } from '../context.ts';
import {
  type Credential,
  environmentCredential,
  headerValue,
  secretVariable,
  storedCredential,
} from './credential.ts';
import { type Contexts, contextOf, permissionWarning, readContexts, type StoredContext } from './store.ts';
import { accessTokenOf } from './workload.ts';

/** Which API a command uses, and how it authenticates. */

export interface Connection {
  readonly url: string;
  readonly credential: Credential;
  /** null: the tenant of the key or token. */
  readonly tenantId: string | null;
  /** The context that gives the key or token. null: it is from the environment. */
  readonly context: string | null;
}

/** @throws UsageError when the text is not the URL of an API */
export function apiUrl(given: string): string {
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError('the URL of the API (BERTH_URL, --url) must be an http or https URL');
  return given;
}

/** The context in use. --context replaces the environment, which otherwise takes precedence over the current context. */
function contextInUse(contexts: Contexts, asked: string | undefined): [string | null, StoredContext | null] {
  const name = asked ?? contexts.current;
  // A current context that was removed by hand is no context.
  if (name === null || (asked === undefined && !Object.hasOwn(contexts.contexts, name))) return [null, null];
  return [name, contextOf(contexts, name)];
}

/** There is no key for the URL. */
function keyMissing(
  name: string | null,
  stored: StoredContext | null,
  { context }: Pick<CallOptions, 'context'>,
): UsageError {
  const owner = stored === null ? '' : `the key of the context ${name} is for ${new URL(stored.url).origin}`;
  if (context !== undefined) return new UsageError(`${owner}: remove --url or --context`);
  const reason = owner === '' ? '' : ` (${owner})`;
  return new UsageError(`BERTH_API_KEY is not set${reason}: run berth login, or set BERTH_API_KEY`);
}

const NO_SETTINGS = { url: undefined, apiKey: undefined, tenantId: undefined };

/** @throws UsageError */
function urlOf(given: string | undefined): string {
  if (given !== undefined && given !== '') return apiUrl(given);
  throw new UsageError(
    'BERTH_URL is not set: run berth login, or set BERTH_URL to the URL of the API, or use --url URL',
  );
}

/**
 * The connection of a command. A stored key or token is sent only to the API that it was stored for, with the stored tenant.
 * The key or token of the environment is sent only to a URL of the environment or the options.
 * @throws UsageError when the URL or the key is missing or malformed, or the stored token has expired
 */
export function connectionOf(
  options: Pick<CallOptions, 'url' | 'context'>,
  environment: Omit<ClientSettings, 'configHome'>,
  contexts: Contexts,
  now: Date = new Date(),
): Connection {
  const [name, stored] = contextInUse(contexts, options.context);
  const settings: typeof environment = options.context === undefined ? environment : NO_SETTINGS;
  const url = urlOf(options.url || settings.url || stored?.url);
  const variable = secretVariable(settings);
  if (variable !== null && !options.url && !settings.url)
    throw new UsageError(
      `${variable} is set without BERTH_URL, so it is not sent to the URL of the context ${name}: set BERTH_URL, or unset ${variable}`,
    );
  const given = environmentCredential(settings);
  const isStoredFor = stored !== null && new URL(url).origin === new URL(apiUrl(stored.url)).origin;
  const used = given === null && isStoredFor ? stored : null;
  const credential = used === null ? given : storedCredential(name ?? '', used, now);
  if (credential === null) throw keyMissing(name, stored, options);
  const tenantId = settings.tenantId || used?.tenant_id;
  return {
    url,
    credential,
    tenantId: tenantId ? headerValue('BERTH_TENANT_ID', tenantId) : null,
    context: used === null ? null : name,
  };
}

/** Hosts that a request does not leave the machine for. `new URL` writes every IPv4 address with four numbers. */
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether others can read a key or token on its way to this URL. */
export function isReadableOnTheWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !LOOPBACK.test(hostname);
}

/**
 * What the environment changes for commands without `--context`, although the current context was just stored.
 * @param name the current context
 * @returns null: commands use the context as it is
 */
export function environmentNote(
  name: string,
  environment: Omit<ClientSettings, 'configHome'>,
  { url: stored, tenant_id: storedTenant }: StoredContext,
): string | null {
  const { url, tenantId } = environment;
  const variable = secretVariable(environment);
  const instead = `, or pass --context ${name}`;
  if (variable !== null && url)
    return `BERTH_URL and ${variable} take precedence over the context; next: unset BERTH_URL ${variable}${instead}`;
  if (variable !== null)
    return `commands fail while ${variable} is set without BERTH_URL; next: unset ${variable}${instead}`;
  const set = [
    ...(url && url !== stored ? ['BERTH_URL'] : []),
    ...(tenantId && tenantId !== storedTenant ? ['BERTH_TENANT_ID'] : []),
  ];
  if (set.length === 0) return null;
  const takes = set.length === 1 ? 'takes' : 'take';
  return `${set.join(' and ')} ${takes} precedence over the context; next: unset ${set.join(' ')}${instead}`;
}

/** The connection of a command, from its options, the environment and the stored contexts. */
export async function findConnection(
  host: Host,
  options: Pick<CallOptions, 'url' | 'context'>,
): Promise<Connection> {
  const { configHome, ...environment } = await host.clientSettings();
  const hasSecret = secretVariable(environment) !== null;
  const isComplete = options.context === undefined && (options.url || environment.url) && hasSecret;
  // A broken file must not stop scripts that do not use it.
  const contexts = isComplete ? { current: null, contexts: {} } : readContexts(configHome);
  const connection = connectionOf(options, environment, contexts);
  const warning = connection.context === null ? null : permissionWarning(configHome);
  if (warning !== null) console.error(`berth: ${warning}`);
  return connection;
}

/** A client that authenticates as the connection says. */
export function clientOf({ url, credential, tenantId }: Connection, signal: AbortSignal) {
  if (!('idToken' in credential)) return createClient({ url, ...credential, tenantId, signal });
  const accessToken = accessTokenOf({ url, idToken: credential.idToken, tenantId, signal });
  return createClient({ url, accessToken, tenantId, signal });
}

/** What a command that calls the API gets. */
export async function openContext(host: Host, options: CallOptions, stopped: AbortSignal): Promise<Context> {
  const connection = await findConnection(host, options);
  return {
    client: clientOf(connection, stopped),
    format: options.output ?? 'table',
    print: (text) => console.log(text),
    note: (text) => console.error(text),
    stopped,
  };
}
