import type { Host } from '../../command/host.ts';
import { type Format, printed } from '../../command/output.ts';
import type { Client } from '../client.ts';
import type { CallOptions } from '../context.ts';
import { cell, fields, table } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import { type Connection, clientOf, findConnection } from './connection.ts';
import { checkKey, describeKey } from './identity.ts';
import { changeContexts, contextOf, readContexts, withoutContext } from './store.ts';

/** `berth context …` and `berth whoami`. */

/** Characters of a key that identify it. The rest is never printed. */
const SHOWN = 12;

/** Why the entry of the key is not shown. */
const UNKNOWN_KEY: Readonly<Record<'forbidden' | 'missing', string>> = {
  forbidden: 'not shown: only keys with the scope admin can read them',
  missing: 'not found: the key is not in the lists of keys',
};

/** Prints the contexts without their keys and tokens. */
export async function listContexts(host: Host, { output }: { output: Format }): Promise<void> {
  const { current, contexts } = readContexts((await host.clientSettings()).configHome);
  const found = Object.entries(contexts).map(([name, { url, tenant_id: tenantId }]) => ({
    name,
    current: name === current,
    url,
    tenant_id: tenantId ?? null,
  }));
  const rows = () =>
    found.map((each) => [each.current ? '*' : '', each.name, cell(each.url), cell(each.tenant_id)]);
  const view = {
    table: () => table(['CURRENT', 'NAME', 'URL', 'TENANT'], rows()),
    names: () => found.map(({ name }) => name),
  };
  await printed(output, found, view);
}

/** Makes a context the current one. */
export async function useContext(host: Host, name: string): Promise<void> {
  const { configHome } = await host.clientSettings();
  changeContexts(configHome, (contexts) => {
    contextOf(contexts, name);
    return { ...contexts, current: name };
  });
  console.error(`${name} is the current context`);
}

/** Removes a context and its key. */
export async function deleteContext(host: Host, name: string, { yes }: { yes: boolean }): Promise<undefined> {
  const { configHome } = await host.clientSettings();
  contextOf(readContexts(configHome), name);
  await confirm(`Delete the context "${name}" and its API key or token from this computer?`, yes);
  changeContexts(configHome, (contexts) => withoutContext(contexts, name));
  console.error(`deleted the context ${name}; the key or token itself is still valid until it is revoked`);
}

/** Prints who acts with the token of a person or a pipeline. */
async function describeToken(client: Client, { url, context }: Connection, format: Format): Promise<void> {
  const token = await client.GET('/v2/auth/token', {});
  const answer = {
    context,
    url,
    kind: token.kind,
    actor: token.actor_name,
    token_prefix: token.prefix,
    tenant_id: token.tenant_id,
    tenant: token.tenant_name,
    roles: token.roles,
    scopes: token.scopes,
    expires_at: token.expires_at,
  };
  const view = () =>
    fields([
      ['Context', cell(context)],
      ['URL', cell(url)],
      ['Actor', cell(token.actor_name)],
      ['Token', `${cell(token.prefix)}…`],
      ['Tenant', cell(token.tenant_name ?? 'the platform')],
      ['Roles', cell(token.roles.join(', '))],
      ['Scopes', cell(token.scopes.join(', '))],
      ['Expires', cell(token.expires_at)],
    ]);
  await printed(format, answer, { table: view });
}

/** Prints the API and the key that commands use, and whether the API accepts them. */
async function describeApiKey(
  client: Client,
  { url, tenantId, context }: Connection,
  [apiKey, format]: [string, Format],
): Promise<void> {
  const canRead = await checkKey(client, tenantId);
  const described = await describeKey(client, apiKey, tenantId);
  const known = typeof described === 'string' ? null : described;
  const answer = {
    context,
    url,
    key_prefix: apiKey.slice(0, known?.prefix.length ?? Math.min(SHOWN, Math.floor(apiKey.length / 3))),
    key_name: known?.name ?? null,
    scopes: known?.scopes ?? null,
    expires_at: known?.expires_at ?? null,
    tenant_id: tenantId ?? known?.tenant_id ?? null,
    reads_deployments: canRead,
  };
  const view = () =>
    fields([
      ['Context', cell(context)],
      ['URL', cell(url)],
      ['Key', `${cell(answer.key_prefix)}…`],
      ['Key name', cell(answer.key_name)],
      ['Scopes', typeof described === 'string' ? UNKNOWN_KEY[described] : cell(described.scopes.join(', '))],
      ['Expires', known === null ? cell(null) : cell(known.expires_at ?? 'never')],
      ['Tenant', cell(answer.tenant_id ?? 'the tenant of the key')],
      ['Reads deployments', canRead ? 'yes' : 'no'],
    ]);
  await printed(format, answer, { table: view });
}

/** Prints the API that commands use, and who they act as. */
export async function whoami(host: Host, options: CallOptions, stopped: AbortSignal): Promise<undefined> {
  const connection = await findConnection(host, options);
  const { credential } = connection;
  const client = clientOf(connection, stopped);
  const format = options.output ?? 'table';
  if ('apiKey' in credential) await describeApiKey(client, connection, [credential.apiKey, format]);
  else await describeToken(client, connection, format);
}
