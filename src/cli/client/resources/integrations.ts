import type { Command } from 'commander';
import { valueOption } from '../../command/command.ts';
import type { Host } from '../../command/host.ts';
import { FORMATS_WITHOUT_NAME } from '../../command/output.ts';
import { UsageError } from '../../command/usage-error.ts';
import { apiCommand, calling } from '../call.ts';
import { choicesOf } from '../choices.ts';
import type { Answer, InputOf } from '../client.ts';
import { show } from '../context.ts';
import { given } from '../given.ts';
import { allOf } from '../paging.ts';
import { cell, fields } from '../table.ts';
import { readSecret } from '../terminal/read-secret.ts';
import { YES } from '../terminal/yes.ts';
import {
  deleteAfterQuestion,
  deleteCommand,
  findOne,
  getCommand,
  type Kind,
  listCommand,
  oneOf,
  showAll,
  showOne,
} from './resource.ts';

/** `berth integrations …`. */

type Integration = Answer<'get', '/v2/integrations'>['resources'][number];
type Repository = Answer<'get', '/v2/integrations/{integration_id}/repos'>['resources'][number];
type Provider = InputOf<'post', '/v2/integrations'>['provider'];

const PROVIDERS = choicesOf<Provider>({ github: true, gitlab: true, git: true });

const INTEGRATION: Kind<Integration> = {
  noun: 'integration',
  listed: 'integrations list',
  list: (client, query) => client.GET('/v2/integrations', { params: { query } }),
  idOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  columns: {
    NAME: (each) => each.name,
    PROVIDER: (each) => each.provider,
    HOST: (each) => each.host_url,
    WEBHOOKS: (each) => each.takes_webhooks,
    CREATED: (each) => each.created_at,
    ID: (each) => each.id,
  },
};

const REPOSITORY: Omit<Kind<Repository>, 'list'> = {
  noun: 'repository',
  listed: 'integrations repositories',
  idOf: ({ repo_url: url }) => url,
  nameOf: ({ full_name: name }) => name,
  columns: {
    NAME: (each) => each.full_name,
    URL: (each) => each.repo_url,
    BRANCH: (each) => each.default_branch,
    PRIVATE: (each) => each.private,
  },
};

const TOKEN = 'The token is read from a prompt without echo, from --token-file, or from standard input.';
const tokenOption = () => valueOption('--token-file <file>', 'file with the token; - is standard input');

const create = (host: Host) =>
  apiCommand('create', 'create an integration with a code host', { details: TOKEN })
    .argument('<name>', 'name of the integration')
    .addOption(
      valueOption('--provider <provider>', 'software of the code host')
        .choices(PROVIDERS)
        .makeOptionMandatory(),
    )
    .addOption(valueOption('--host-url <url>', 'URL of the code host').makeOptionMandatory())
    .addOption(tokenOption())
    .action(
      calling(
        host,
        async (
          context,
          name: string,
          options: { provider: Provider; hostUrl: string; tokenFile?: string },
        ) => {
          const token = await readSecret('the token', { file: options.tokenFile, option: '--token-file' });
          const { provider, hostUrl } = options;
          const body = { name, provider, host_url: hostUrl, token };
          return showOne(context, INTEGRATION, await context.client.POST('/v2/integrations', { body }));
        },
      ),
    );

const update = (host: Host) =>
  apiCommand('update', 'rename an integration, or replace its token', { details: TOKEN })
    .argument(...oneOf(INTEGRATION))
    .addOption(valueOption('--name <name>', 'new name'))
    .option('--replace-token', 'replace the token, from a prompt or standard input', false)
    .addOption(tokenOption())
    .action(
      calling(
        host,
        async (
          context,
          word: string,
          options: { name?: string; replaceToken: boolean; tokenFile?: string },
        ) => {
          const { name, tokenFile: file } = options;
          const hasToken = options.replaceToken || file !== undefined;
          if (name === undefined && !hasToken)
            throw new UsageError('set --name, --replace-token or --token-file');
          const { id } = await findOne(context.client, INTEGRATION, word);
          const token = hasToken
            ? await readSecret('the token', { file, option: '--token-file' })
            : undefined;
          const params = { path: { integration_id: id } };
          const body = given({ name, token });
          return showOne(
            context,
            INTEGRATION,
            await context.client.PATCH('/v2/integrations/{integration_id}', { params, body }),
          );
        },
      ),
    );

const repositories = (host: Host) =>
  apiCommand('repositories', 'list the repositories that the token can read', {
    formats: FORMATS_WITHOUT_NAME,
  })
    .argument(...oneOf(INTEGRATION))
    .action(
      calling(host, async (context, word: string) => {
        const { id } = await findOne(context.client, INTEGRATION, word);
        const path = { integration_id: id };
        const kind: Kind<Repository> = {
          ...REPOSITORY,
          list: (client, query) =>
            client.GET('/v2/integrations/{integration_id}/repos', { params: { path, query } }),
        };
        return showAll(context, kind, await allOf((page) => kind.list(context.client, page)));
      }),
    );

const SECRET = '/v2/integrations/{integration_id}/webhook-secret';

/** The secret is the result of this command, so it is printed in every format. */
const createSecret = (host: Host) =>
  apiCommand('create-webhook-secret', 'create a secret for webhooks, and print it once', {
    details: 'The previous secret stays valid until the printed time.',
    formats: FORMATS_WITHOUT_NAME,
  })
    .argument(...oneOf(INTEGRATION))
    .action(
      calling(host, async (context, word: string) => {
        const { id } = await findOne(context.client, INTEGRATION, word);
        const made = await context.client.POST(SECRET, { params: { path: { integration_id: id } } });
        const view = () =>
          fields([
            ['Url', made.url],
            ['Secret', made.secret],
            ['Previous secret valid until', cell(made.former_valid_until)],
          ]);
        await show(context, made, { table: view });
        return undefined;
      }),
    );

const deleteSecret = (host: Host) =>
  apiCommand('delete-webhook-secret', 'delete the secret for webhooks, so that webhooks are rejected', {
    formats: [],
  })
    .argument(...oneOf(INTEGRATION))
    .option(...YES)
    .action(
      calling(host, async (context, word: string, { yes }: { yes: boolean }) => {
        const { id, name } = await findOne(context.client, INTEGRATION, word);
        const what = `webhook secret of the integration "${cell(name)}"`;
        const params = { path: { integration_id: id } };
        return deleteAfterQuestion(context, { what, yes }, () => context.client.DELETE(SECRET, { params }));
      }),
    );

export function buildIntegrations(made: Command, host: Host): void {
  const remove = deleteCommand(host, INTEGRATION, (client, id) =>
    client.DELETE('/v2/integrations/{integration_id}', { params: { path: { integration_id: id } } }),
  );
  made.addCommand(listCommand(host, INTEGRATION)).addCommand(getCommand(host, INTEGRATION));
  for (const build of [create, update, repositories, createSecret, deleteSecret])
    made.addCommand(build(host));
  made.addCommand(remove);
}
