import type { ClientSettings, Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { type ClientOptions, createClient } from '../client.ts';
import type { CallOptions, Context } from '../context.ts';
import { type Contexts, contextOf, readContexts, type StoredContext } from './store.ts';

/** Which API and which key a command uses. */

export interface Connection extends Pick<ClientOptions, 'url' | 'apiKey' | 'tenantId'> {
  /** The context that gives the URL or the key. null: both are from options or the environment. */
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

const NO_SETTINGS = { url: undefined, apiKey: undefined, tenantId: undefined };

/**
 * The connection of a command. A stored key is sent only to the API that it was stored for.
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
  const isStoredFor = stored !== null && new URL(url).origin === new URL(apiUrl(stored.url)).origin;
  const storedKey = isStoredFor ? stored.api_key : undefined;
  const apiKey = settings.apiKey || storedKey;
  if (apiKey === undefined) {
    const reason =
      stored === null || isStoredFor
        ? ''
        : ` (the key of the context ${name} is for ${new URL(stored.url).origin})`;
    throw new UsageError(`BERTH_API_KEY is not set${reason}: run berth login, or set BERTH_API_KEY`);
  }
  const tenantId = settings.tenantId || (isStoredFor ? stored.tenant_id : undefined);
  const isUsed = stored !== null && (url === stored.url || apiKey === storedKey);
  return {
    url,
    apiKey: headerValue(settings.apiKey ? 'BERTH_API_KEY' : `the key of the context ${name}`, apiKey),
    tenantId: tenantId ? headerValue('BERTH_TENANT_ID', tenantId) : null,
    context: isUsed ? name : null,
  };
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
  return connectionOf(options, environment, contexts);
}

/** What a command that calls the API gets. */
export async function openContext(host: Host, options: CallOptions, stopped: AbortSignal): Promise<Context> {
  const { url, apiKey, tenantId } = await findConnection(host, options);
  return {
    client: createClient({ url, apiKey, tenantId, stopped }),
    format: options.output ?? 'table',
    print: (text) => console.log(text),
    note: (text) => console.error(text),
    stopped,
  };
}
