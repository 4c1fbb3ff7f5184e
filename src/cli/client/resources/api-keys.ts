import type { Command } from 'commander';
import { describe, listOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { expiresOption } from '../../command/time-options.ts';
import { apiCommand, calling } from '../call.ts';
import { choicesOf } from '../choices.ts';
import type { Answer, Client, InputOf } from '../client.ts';
import { show } from '../context.ts';
import { given } from '../given.ts';
import { allOf } from '../paging.ts';
import { cell, fields } from '../table.ts';
import { deleteCommand, getCommand, type Kind, showAll } from './resource.ts';

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
  // Several keys can have the same name.
  referenceOf: ({ id }) => id,
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

const SCOPES = choicesOf<Scopes[number]>({
  'deployments:read': true,
  'deployments:write': true,
  'secrets:read': true,
  'tasks:run': true,
  'listeners:run': true,
  admin: true,
});

interface CreateOptions {
  readonly scopes: Scopes;
  readonly expires?: Date;
  readonly platform: boolean;
}

/** The key is the result of this command, so it is printed in every format. */
const create = (host: Host) =>
  apiCommand('create', 'create an API key, and print it once', { formats: FORMATS_WITHOUT_NAME })
    .argument('<name>', 'name of the key, such as its purpose')
    .addOption(
      listOption('--scopes <a,b>', 'scopes of the key, separated by commas', SCOPES).makeOptionMandatory(),
    )
    .addOption(expiresOption())
    .option('--platform', 'create a key of the platform, without a tenant', false)
    .action(
      calling(host, async (context, name: string, { scopes, expires, platform }: CreateOptions) => {
        const body = {
          name,
          scopes,
          platform,
          ...given({ expires_at: expires?.toISOString() }),
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
        return showAll(context, KEY, await ask(context.client));
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
