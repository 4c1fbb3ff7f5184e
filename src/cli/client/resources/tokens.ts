import type { Command } from 'commander';
import { describe } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { apiCommand, calling } from '../call.ts';
import type { Answer } from '../client.ts';
import { allOf } from '../paging.ts';
import { cell } from '../table.ts';
import { yesTo } from '../terminal/yes.ts';
import { deleteAfterQuestion, findOne, type Kind, showAll } from './resource.ts';

/** `berth tokens …`. */

type AccessToken = Answer<'get', '/v2/auth/tokens'>['resources'][number];

interface ListOptions {
  readonly all: boolean;
  readonly ended: boolean;
}

const tokens = ({ all, ended }: ListOptions): Kind<AccessToken> => ({
  noun: 'access token',
  listed: 'tokens list',
  list: (client, page) => client.GET('/v2/auth/tokens', { params: { query: { ...page, all, ended } } }),
  idOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  // Several tokens can be of the same machine.
  referenceOf: ({ id }) => id,
  columns: {
    NAME: (each) => each.name,
    KIND: (each) => each.kind,
    PREFIX: (each) => each.prefix,
    ROLES: (each) => each.roles.join(','),
    TENANT: (each) => each.tenant_id ?? 'platform',
    EXPIRES: (each) => each.expires_at,
    REVOKED: (each) => each.revoked_at,
    USED: (each) => each.last_used_at,
    ID: (each) => each.id,
  },
});

const ALL = ['--all', 'tokens of all people and pipelines of the tenant, for admins', false] as const;

const list = (host: Host) =>
  apiCommand('list', 'list your access tokens, without their values; -o name prints ids')
    .option(...ALL)
    .option('--ended', 'include tokens that were revoked or have expired', false)
    .action(
      calling(host, async (context, options: ListOptions) => {
        const kind = tokens(options);
        return showAll(context, kind, await allOf((page) => kind.list(context.client, page)));
      }),
    );

const revoke = (host: Host) =>
  apiCommand('revoke', 'revoke an access token', { formats: [] })
    .argument('<token>', 'id of the access token, or the name of its machine')
    .option(...ALL)
    .option(...yesTo('revoke'))
    .action(
      calling(host, async (context, word: string, { all, yes }: { all: boolean; yes: boolean }) => {
        const token = await findOne(context.client, tokens({ all, ended: false }), word);
        const what = `access token of ${cell(token.name)} (${token.prefix}…)`;
        return deleteAfterQuestion(context, { what, yes, verb: 'revoke' }, () =>
          context.client.DELETE('/v2/auth/tokens/{token_id}', { params: { path: { token_id: token.id } } }),
        );
      }),
    );

export function buildTokens(made: Command, host: Host): void {
  describe(made, `A revoked token is rejected at once.`).addCommand(list(host)).addCommand(revoke(host));
}
