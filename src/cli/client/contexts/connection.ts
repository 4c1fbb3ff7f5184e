import type { ClientSettings, Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { type ClientOptions, createClient } from '../client.ts';
import type { CallOptions, Context } from '../context.ts';
import { type Contexts, contextOf, permissionWarning, readContexts, type StoredContext } from './store.ts';

/** Which API and which key a command uses. */

export interface Connection extends Pick<ClientOptions, 'url' | 'apiKey'> {
  /** null: the tenant of the key. */
  readonly tenantId: string | null;
  /** The context that gives the key. null: the key is from the environment. */
  readonly context: string | null;
}

/** @throws UsageError when the text is not the URL of an API */
export function apiUrl(given: string): string {
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError('the URL of the API (BERTH_URL, --url) must be an http or https URL');
  return given;
}

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

/**
 * The connection of a command. A stored key is sent only to the API that it was stored for, with the stored tenant. The
 * key of the environment is sent only to a URL of the environment or the options.
 * @throws UsageError when the URL or the key is missing or malformed
 */
export function connectionOf(
  options: Pick<CallOptions, 'url' | 'context'>,
  environment: Omit<ClientSettings, 'configHome'>,
  contexts: Contexts,
): Connection {
  const [name, stored] = contextInUse(contexts, options.context);
  const settings = options.context === undefined ? environment : NO_SETTINGS;
  const given = options.url || settings.url || stored?.url;
  if (given === undefined || given === '')
    throw new UsageError(
      'BERTH_URL is not set: run berth login, or set BERTH_URL to the URL of the API, or use --url URL',
    );
  const url = apiUrl(given);
  if (settings.apiKey && !options.url && !settings.url)
    throw new UsageError(
      `BERTH_API_KEY is set without BERTH_URL, so it is not sent to the URL of the context ${name}: set BERTH_URL, or unset BERTH_API_KEY`,
    );
  const isStoredFor = stored !== null && new URL(url).origin === new URL(apiUrl(stored.url)).origin;
  const usesStored = isStoredFor && !settings.apiKey;
  const apiKey = usesStored ? stored.api_key : settings.apiKey;
  if (!apiKey) throw keyMissing(name, stored, options);
  const tenantId = settings.tenantId || (usesStored ? stored.tenant_id : undefined);
  return {
    url,
    apiKey: headerValue(usesStored ? `the key of the context ${name}` : 'BERTH_API_KEY', apiKey),
    tenantId: tenantId ? headerValue('BERTH_TENANT_ID', tenantId) : null,
    context: usesStored ? name : null,
  };
}

/** Hosts that a request does not leave the machine for. `new URL` writes every IPv4 address with four numbers. */
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether others can read a key on its way to this URL. */
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
  { url, apiKey, tenantId }: Omit<ClientSettings, 'configHome'>,
  { url: stored, tenant_id: storedTenant }: StoredContext,
): string | null {
  const instead = `, or pass --context ${name}`;
  if (apiKey && url)
    return `BERTH_URL and BERTH_API_KEY take precedence over the context; next: unset BERTH_URL BERTH_API_KEY${instead}`;
  if (apiKey)
    return `commands fail while BERTH_API_KEY is set without BERTH_URL; next: unset BERTH_API_KEY${instead}`;
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
  const isComplete = options.context === undefined && (options.url || environment.url) && environment.apiKey;
  // A broken file must not stop scripts that do not use it.
  const contexts = isComplete ? { current: null, contexts: {} } : readContexts(configHome);
  const connection = connectionOf(options, environment, contexts);
  const warning = connection.context === null ? null : permissionWarning(configHome);
  if (warning !== null) console.error(`berth: ${warning}`);
  return connection;
}

/** What a command that calls the API gets. */
export async function openContext(host: Host, options: CallOptions, stopped: AbortSignal): Promise<Context> {
  const { url, apiKey, tenantId } = await findConnection(host, options);
  return {
    client: createClient({ url, apiKey, tenantId, signal: stopped }),
    format: options.output ?? 'table',
    print: (text) => console.log(text),
    note: (text) => console.error(text),
    stopped,
  };
}
