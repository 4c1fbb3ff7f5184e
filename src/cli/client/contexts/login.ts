import type { Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { createClient } from '../client.ts';
import { readSecret } from '../terminal/read-secret.ts';
import { apiUrl, environmentNote, headerValue, isReadableOnTheWay } from './connection.ts';
import { checkKey } from './identity.ts';
import { changeContexts, contextName, contextsPath, readContexts, withContext } from './store.ts';

/** `berth login`. */

export interface LoginOptions {
  readonly name?: string;
  readonly url?: string;
  readonly keyFile?: string;
  readonly tenant?: string;
}

/** The host of the URL is a name that the user recognizes. */
const defaultName = (url: string) => new URL(url).hostname.replace(/[^A-Za-z0-9.-]/g, '') || 'default';

/** Checks the key with the API, and stores both as the current context. */
export async function login(host: Host, options: LoginOptions, stopped: AbortSignal): Promise<undefined> {
  const settings = await host.clientSettings();
  const given = options.url || settings.url;
  if (given === undefined || given === '')
    throw new UsageError('--url is missing: set it to the URL of the API, such as https://berth.example.com');
  const url = apiUrl(given);
  const name = contextName(options.name ?? defaultName(url));
  const { tenant } = options;
  const tenantId = tenant === undefined ? null : headerValue('--tenant', tenant);
  if (isReadableOnTheWay(url))
    console.error(
      'berth: the URL begins with http, so others on the network can read the API key; next: use https, if the API has it',
    );
  // A file that cannot be read is reported before the question.
  readContexts(settings.configHome);
  const key = await readSecret('the API key', { file: options.keyFile, option: '--key-file' });
  const apiKey = headerValue('the API key', key);
  const canRead = await checkKey(createClient({ url, apiKey, tenantId, signal: stopped }), tenantId);
  const added = { url, api_key: apiKey, ...(tenantId === null ? {} : { tenant_id: tenantId }) };
  changeContexts(settings.configHome, (contexts) => withContext(contexts, name, added));
  console.error(
    `stored the context ${name} in ${contextsPath(settings.configHome)}; it is the current context`,
  );
  if (!canRead) console.error('the key cannot read deployments of a tenant; next: berth whoami');
  const note = environmentNote(name, settings, added);
  if (note !== null) console.error(note);
}
