import type { Host } from '../../command/host.ts';
import { type Format, rendered } from '../../command/output.ts';
import { createClient } from '../client.ts';
import type { CallOptions } from '../context.ts';
import { cell, fields, table } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import { findConnection } from './connection.ts';
import { checkKey, describeKey } from './identity.ts';
import { contextOf, readContexts, withoutContext, writeContexts } from './store.ts';

/** `berth context …` and `berth whoami`. */

/** Characters of a key that identify it. The rest is never printed. */
const SHOWN = 12;

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
  console.log(await rendered(output, found, view));
}

/** Makes a context the current one. */
export async function useContext(host: Host, name: string): Promise<void> {
  const { configHome } = await host.clientSettings();
  const contexts = readContexts(configHome);
  contextOf(contexts, name);
  writeContexts(configHome, { ...contexts, current: name });
  console.error(`${name} is the current context`);
}

/** Removes a context and its key. */
export async function deleteContext(host: Host, name: string, { yes }: { yes: boolean }): Promise<undefined> {
  const { configHome } = await host.clientSettings();
  const contexts = readContexts(configHome);
  contextOf(contexts, name);
  await confirm(`Delete the context "${name}" and its API key from this computer?`, yes);
  writeContexts(configHome, withoutContext(contexts, name));
  console.error(`deleted the context ${name}; the key itself is still valid until it is revoked`);
}

/** Prints the API and the key that commands use, and whether the API accepts them. */
export async function whoami(host: Host, options: CallOptions, stopped: AbortSignal): Promise<undefined> {
  const { url, apiKey, tenantId, context } = await findConnection(host, options);
  const client = createClient({ url, apiKey, tenantId, stopped });
  const canRead = await checkKey(client);
  const described = await describeKey(client, apiKey);
  const answer = {
    context,
    url,
    key_prefix: apiKey.slice(0, described?.prefix.length ?? Math.min(SHOWN, Math.floor(apiKey.length / 3))),
    key_name: described?.name ?? null,
    scopes: described?.scopes ?? null,
    expires_at: described?.expires_at ?? null,
    tenant_id: tenantId ?? described?.tenant_id ?? null,
    reads_deployments: canRead,
  };
  const view = () =>
    fields([
      ['Context', cell(context)],
      ['URL', cell(url)],
      ['Key', `${cell(answer.key_prefix)}…`],
      ['Key name', cell(answer.key_name)],
      [
        'Scopes',
        described === null
          ? 'not shown: only keys with the scope admin can read them'
          : cell(described.scopes.join(', ')),
      ],
      ['Expires', described === null ? cell(null) : cell(described.expires_at ?? 'never')],
      ['Tenant', cell(answer.tenant_id ?? 'the tenant of the key')],
      ['Reads deployments', canRead ? 'yes' : 'no'],
    ]);
  console.log(
    await rendered(options.output ?? 'table', answer, { table: view, names: () => [context ?? url] }),
  );
}
