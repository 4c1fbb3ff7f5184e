import type { Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { ApiProblem } from '../call-problem.ts';
import { createClient, type InputOf } from '../client.ts';
import { readSecret } from '../terminal/read-secret.ts';
import { apiUrl, environmentNote, isReadableOnTheWay } from './connection.ts';
import { headerValue, idTokenOf } from './credential.ts';
import { deviceLogin } from './device.ts';
import { checkKey } from './identity.ts';
import {
  changeContexts,
  contextName,
  contextsPath,
  readContexts,
  type StoredContext,
  withContext,
} from './store.ts';
import { exchange, type Issued } from './workload.ts';

/** `berth login`. */

export interface LoginOptions {
  readonly name?: string;
  readonly url?: string;
  readonly apiKey: boolean;
  readonly keyFile?: string;
  readonly device: boolean;
  readonly workload: boolean;
  readonly tenant?: string;
  readonly role?: NonNullable<InputOf<'post', '/v2/auth/device'>['role']>;
}

/** How a user logs in. `offered`: in the browser if the API has sign-in, otherwise with a key. */
export type LoginMethod = 'api_key' | 'workload' | 'device' | 'offered';

/**
 * The method of a login. Without an option, a person at a terminal uses a browser, and a script passes a key.
 * @throws UsageError for options of different methods
 */
export function loginMethod(
  { apiKey, keyFile, device, workload }: Omit<LoginOptions, 'name' | 'url'>,
  isTerminal: boolean,
): LoginMethod {
  const methods: readonly (readonly [LoginMethod, boolean])[] = [
    ['api_key', apiKey || keyFile !== undefined],
    ['device', device],
    ['workload', workload],
  ];
  const [chosen, ...others] = methods.filter(([, isChosen]) => isChosen);
  if (others.length > 0)
    throw new UsageError('use only one of --api-key (or --key-file), --device and --workload');
  return chosen?.[0] ?? (isTerminal ? 'offered' : 'api_key');
}

/** The host of the URL is a name that the user recognizes. */
const defaultName = (url: string) => new URL(url).hostname.replace(/[^A-Za-z0-9.-]/g, '') || 'default';

/** What a login stores, and what the user should know about it. */
interface Login {
  readonly added: StoredContext;
  readonly note: string | null;
}

async function withKey(url: string, { tenant, keyFile }: LoginOptions, signal: AbortSignal): Promise<Login> {
  const tenantId = tenant === undefined ? null : headerValue('--tenant', tenant);
  const key = await readSecret('the API key', { file: keyFile, option: '--key-file' });
  const apiKey = headerValue('the API key', key);
  const canRead = await checkKey(createClient({ url, apiKey, tenantId, signal }), tenantId);
  return {
    added: { url, api_key: apiKey, ...(tenantId === null ? {} : { tenant_id: tenantId }) },
    note: canRead ? null : 'the key cannot read deployments of a tenant; next: berth whoami',
  };
}

const withToken = (url: string, { access_token, expires_at, roles }: Issued): Login => ({
  added: { url, access_token, expires_at },
  note: `the login has the roles ${roles.join(', ')}, and expires at ${expires_at}`,
});

async function withWorkload(
  host: Host,
  url: string,
  tenant: string | undefined,
  signal: AbortSignal,
): Promise<Login> {
  const idToken = idTokenOf(await host.clientSettings());
  if (idToken === null)
    throw new UsageError(
      '--workload needs BERTH_ID_TOKEN or BERTH_ID_TOKEN_FILE: set it to the token of the pipeline',
    );
  return withToken(url, await exchange({ url, idToken, tenantId: tenant ?? null, signal }));
}

const inBrowser = async (url: string, { tenant, role }: LoginOptions, signal: AbortSignal): Promise<Login> =>
  withToken(url, await deviceLogin({ url, tenant, role, signal, note: (text) => console.error(text) }));

/** The API has no sign-in: it is of a previous version (404), or not configured for it (409). */
const hasNoSignIn = (error: unknown) =>
  error instanceof ApiProblem && (error.status === 404 || error.status === 409);

async function loginBy(
  method: LoginMethod,
  host: Host,
  [url, options, signal]: [string, LoginOptions, AbortSignal],
): Promise<Login> {
  switch (method) {
    case 'api_key':
      return withKey(url, options, signal);
    case 'workload':
      return withWorkload(host, url, options.tenant, signal);
    case 'device':
      return inBrowser(url, options, signal);
    case 'offered':
      return inBrowser(url, options, signal).catch((error) => {
        if (!hasNoSignIn(error)) throw error;
        console.error('the API has no sign-in for people, so the login needs an API key');
        return withKey(url, options, signal);
      });
  }
}

/** Logs in, and stores the key or token as the current context. */
export async function login(host: Host, options: LoginOptions, stopped: AbortSignal): Promise<undefined> {
  const settings = await host.clientSettings();
  const given = options.url || settings.url;
  if (given === undefined || given === '')
    throw new UsageError('--url is missing: set it to the URL of the API, such as https://berth.example.com');
  const url = apiUrl(given);
  const name = contextName(options.name ?? defaultName(url));
  const method = loginMethod(options, process.stdin.isTTY === true);
  if (isReadableOnTheWay(url))
    console.error(
      'berth: the URL begins with http, so others on the network can read the API key or token; next: use https, if the API has it',
    );
  // A file that cannot be read is reported before the question.
  readContexts(settings.configHome);
  const { added, note } = await loginBy(method, host, [url, options, stopped]);
  changeContexts(settings.configHome, (contexts) => withContext(contexts, name, added));
  console.error(
    `stored the context ${name} in ${contextsPath(settings.configHome)}; it is the current context`,
  );
  if (note !== null) console.error(note);
  const replaced = environmentNote(name, settings, added);
  if (replaced !== null) console.error(replaced);
}
