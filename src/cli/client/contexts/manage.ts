import type { Host } from '../../command/host.ts';
import { type Format, printed } from '../../command/output.ts';
import { createClient } from '../client.ts';
import type { CallOptions } from '../context.ts';
import { cell, fields, table } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import { findConnection } from './connection.ts';
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

/** Prints the contexts without their keys. */
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
  await confirm(`Delete the context "${name}" and its API key from this computer?`, yes);
  changeContexts(configHome, (contexts) => withoutContext(contexts, name));
  console.error(`deleted the context ${name}; the key itself is still valid until it is revoked`);
}

/** Prints the API and the key that commands use, and whether the API accepts them. */
export async function whoami(host: Host, options: CallOptions, stopped: AbortSignal): Promise<undefined> {
  const { url, apiKey, tenantId, context } = await findConnection(host, options);
  const client = createClient({ url, apiKey, tenantId, signal: stopped });
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
  await printed(options.output ?? 'table', answer, { table: view });
}
