import type { Command } from 'commander';
import { describe, valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { UsageError } from '../../command/usage-error.ts';
import { apiCommand, calling } from '../call.ts';
import { given } from '../given.ts';
import type { Answer, Client, InputOf } from '../client.ts';
import { show } from '../context.ts';
import { allOf } from '../paging.ts';
import { cell, fields } from '../table.ts';
import { deleteCommand, getCommand, type Kind, showAll, words } from './resource.ts';

/** `berth api-keys …`, for keys with the scope admin. */

type ApiKey = Answer<'get', '/v2/api-keys'>['resources'][number];
type Scopes = InputOf<'post', '/v2/api-keys'>['scopes'];

const KEY: Kind<ApiKey> = {
  noun: 'API key',
  listed: 'api-keys list',
  list: (client, query) => client.GET('/v2/api-keys', { params: { query } }),
  // The list of a tenant does not contain the keys of the platform.
  get: (client, id) => client.GET('/v2/api-keys/{api_key_id}', { params: { path: { api_key_id: id } } }),
  idOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  columns: {
    NAME: (each) => each.name,
    PREFIX: (each) => each.prefix,
    SCOPES: (each) => each.scopes.join(','),
    EXPIRES: (each) => each.expires_at ?? 'never',
    REVOKED: (each) => each.revoked_at,
    USED: (each) => each.last_used_at,
    ID: (each) => each.id,
  },
};

/** Several keys can have the same name, so only ids are printed for other commands. */
const BY_ID: Kind<ApiKey> = { ...KEY, nameOf: KEY.idOf };

const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24 };

/** A time, or a duration from now, as a time. The API validates the time. */
export function expiry(text: string, now: Date): string {
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
  if (count !== undefined)
    return new Date(now.getTime() + Number(count) * (HOURS[unit] ?? 1) * 3_600_000).toISOString();
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return text;
  throw new UsageError(`--expires: "${text}" is neither a time such as 2030-01-31T00:00:00Z nor 90d or 12h`);
}

interface CreateOptions {
  readonly scopes: string[];
  readonly expires?: string;
  readonly platform: boolean;
}

/** The key is the result of this command, so it is printed in every format. */
const create = (host: Host) =>
  apiCommand('create', 'create an API key, and print it once', { formats: FORMATS_WITHOUT_NAME })
    .argument('<name>', 'name of the key, such as its purpose')
    .addOption(
      valueOption(
        '--scopes <a,b>',
        'scopes of the key, such as deployments:read,deployments:write',
        words,
      ).makeOptionMandatory(),
    )
    .addOption(
      valueOption('--expires <when>', '90d, 12h, or a time such as 2030-01-31T00:00:00Z; default: never'),
    )
    .option('--platform', 'create a key of the platform, without a tenant', false)
    .action(
      calling(host, async (context, name: string, { scopes, expires, platform }: CreateOptions) => {
        const body = {
          name,
          // The API validates the scopes.
          scopes: scopes as Scopes,
          platform,
          ...given({ expires_at: expires === undefined ? undefined : expiry(expires, new Date()) }),
        };
        const made = await context.client.POST('/v2/api-keys', { body });
        const view = () =>
          fields([
            ['Key', made.key],
            ['Id', made.id],
            ['Name', cell(made.name)],
            ['Scopes', made.scopes.join(',')],
            ['Expires', made.expires_at ?? 'never'],
          ]);
        await show(context, made, { table: view });
        context.note('store the key: it is not shown again');
        return undefined;
      }),
    );

const list = (host: Host) =>
  apiCommand('list', 'list the API keys, without their values; -o name prints ids')
    .option('--platform', 'list the keys of the platform, which have no tenant', false)
    .action(
      calling(host, async (context, { platform }: { platform: boolean }) => {
        const ask = (client: Client) =>
          allOf<ApiKey>((page) => client.GET('/v2/api-keys', { params: { query: { ...page, platform } } }));
        return showAll(context, BY_ID, await ask(context.client));
      }),
    );

export function buildApiKeys(made: Command, host: Host): void {
  describe(made, `Needs a key with the scope admin.`)
    .addCommand(list(host))
    .addCommand(getCommand(host, KEY))
    .addCommand(create(host))
    .addCommand(
      deleteCommand(
        host,
        KEY,
        (client, id) => client.DELETE('/v2/api-keys/{api_key_id}', { params: { path: { api_key_id: id } } }),
        'revoke',
      ),
    );
}
