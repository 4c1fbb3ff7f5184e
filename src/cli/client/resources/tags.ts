import type { Command } from 'commander';
import type { Host } from '../../command/host.ts';
import { UsageError } from '../../command/usage-error.ts';
import { DEPLOYMENT } from '../arguments.ts';
import { apiCommand, calling } from '../call.ts';
import { ApiProblem } from '../call-problem.ts';
import type { Answer, Client } from '../client.ts';
import type { Context } from '../context.ts';
import { lookUpDeployment } from '../lookup.ts';
import { allOf } from '../paging.ts';
import { cell } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import { YES, yesTo } from '../terminal/yes.ts';
import {
  deleteAfterQuestion,
  deleteCommand,
  findOne,
  type Kind,
  listCommand,
  showAll,
  showOne,
} from './resource.ts';

/** `berth tags …`: keys, their values, and the tags of deployments. */

type TagKey = Answer<'get', '/v2/tag-keys'>['resources'][number];
type TagValue = Answer<'get', '/v2/tag-keys/{tag_key_id}/values'>['resources'][number];

const KEY: Kind<TagKey> = {
  noun: 'tag',
  listed: 'tags list',
  list: (client, query) => client.GET('/v2/tag-keys', { params: { query } }),
  idOf: ({ id }) => id,
  nameOf: ({ key }) => key,
  columns: { KEY: (each) => each.key, CREATED: (each) => each.created_at, ID: (each) => each.id },
};

/** The values of a key. */
const valuesOf = ({ id, key }: TagKey): Kind<TagValue> => ({
  noun: 'value',
  listed: `tags values ${key}`,
  list: (client, query) =>
    client.GET('/v2/tag-keys/{tag_key_id}/values', { params: { path: { tag_key_id: id }, query } }),
  idOf: (each) => each.id,
  nameOf: (each) => each.value,
  columns: { VALUE: (each) => each.value, CREATED: (each) => each.created_at, ID: (each) => each.id },
});

const ARGUMENTS = {
  key: ['<key>', 'id or name of the tag'],
  value: ['<value>', 'id or name of the value'],
} as const;
const VALUE = '/v2/tag-keys/{tag_key_id}/values/{tag_value_id}';

function keyCommands(host: Host): Command[] {
  return [
    listCommand(host, KEY),
    apiCommand('create', 'create a tag')
      .argument('<key>', 'name of the tag')
      .action(
        calling(host, async (context, key: string) =>
          showOne(context, KEY, await context.client.POST('/v2/tag-keys', { body: { key } })),
        ),
      ),
    apiCommand('rename', 'rename a tag')
      .argument(...ARGUMENTS.key)
      .argument('<name>', 'new name')
      .action(
        calling(host, async (context, word: string, key: string) => {
          const params = { path: { tag_key_id: (await findOne(context.client, KEY, word)).id } };
          const renamed = await context.client.PATCH('/v2/tag-keys/{tag_key_id}', { params, body: { key } });
          return showOne(context, KEY, renamed);
        }),
      ),
    deleteCommand(host, KEY, (client, id) =>
      client.DELETE('/v2/tag-keys/{tag_key_id}', { params: { path: { tag_key_id: id } } }),
    ),
  ];
}

/** The path of a value. */
async function pathTo(client: Client, key: TagKey, word: string) {
  const value = await findOne(client, valuesOf(key), word);
  return { value, path: { tag_key_id: key.id, tag_value_id: value.id } };
}

function valueCommands(host: Host): Command[] {
  return [
    apiCommand('values', 'list the values of a tag')
      .argument(...ARGUMENTS.key)
      .action(
        calling(host, async (context, word: string) => {
          const kind = valuesOf(await findOne(context.client, KEY, word));
          return showAll(context, kind, await allOf((page) => kind.list(context.client, page)));
        }),
      ),
    apiCommand('create-value', 'create a value of a tag')
      .argument(...ARGUMENTS.key)
      .argument('<value>', 'the value')
      .action(
        calling(host, async (context, word: string, value: string) => {
          const key = await findOne(context.client, KEY, word);
          const params = { path: { tag_key_id: key.id } };
          const made = await context.client.POST('/v2/tag-keys/{tag_key_id}/values', {
            params,
            body: { value },
          });
          return showOne(context, valuesOf(key), made);
        }),
      ),
    apiCommand('rename-value', 'rename a value of a tag')
      .argument(...ARGUMENTS.key)
      .argument(...ARGUMENTS.value)
      .argument('<name>', 'new name')
      .action(
        calling(host, async (context, word: string, old: string, value: string) => {
          const key = await findOne(context.client, KEY, word);
          const { path } = await pathTo(context.client, key, old);
          const renamed = await context.client.PATCH(VALUE, { params: { path }, body: { value } });
          return showOne(context, valuesOf(key), renamed);
        }),
      ),
    apiCommand('delete-value', 'delete a value of a tag', { formats: [] })
      .argument(...ARGUMENTS.key)
      .argument(...ARGUMENTS.value)
      .option(...YES)
      .action(
        calling(host, async (context, word: string, old: string, { yes }: { yes: boolean }) => {
          const key = await findOne(context.client, KEY, word);
          const { path, value } = await pathTo(context.client, key, old);
          const what = `value "${cell(value.value)}" of the tag "${cell(key.key)}"`;
          const remove = () => context.client.DELETE(VALUE, { params: { path } });
          return deleteAfterQuestion(context, { what, yes }, remove);
        }),
      ),
  ];
}

/** The id of the value of `KEY=VALUE`. */
async function valueIdOf(client: Client, keys: readonly TagKey[], tag: string): Promise<string> {
  const [name = '', value = ''] = tag.split(/=(.*)/s);
  const key = keys.find((each) => each.key === name);
  if (key === undefined) throw new ApiProblem(404, `404: there is no tag "${name}"`, 'berth tags create KEY');
  return (await pathTo(client, key, value)).value.id;
}

interface SetOptions {
  readonly clear: boolean;
  readonly yes: boolean;
}

/** @throws UsageError */
function checkTags(tags: readonly string[], { clear, yes }: SetOptions): void {
  const wrong = tags.find((tag) => !/^[^=]+=./s.test(tag));
  if (wrong !== undefined) throw new UsageError(`"${wrong}" is not a tag: use KEY=VALUE`);
  if (tags.length === 0 && !clear) throw new UsageError('set a tag KEY=VALUE, or use --clear to remove all');
  if (tags.length > 0 && clear) throw new UsageError('--clear removes all tags: remove it, or the tags');
  if (yes && !clear) throw new UsageError('--yes needs --clear: only --clear asks');
}

async function setTags(
  context: Context,
  word: string,
  tags: readonly string[],
  options: SetOptions,
): Promise<undefined> {
  checkTags(tags, options);
  const { client } = context;
  const { id, name } = await lookUpDeployment(client, word, true);
  if (options.clear) await confirm(`Remove all tags of the deployment "${cell(name)}"?`, options.yes);
  const keys = options.clear ? [] : await allOf<TagKey>((page) => KEY.list(client, page));
  const ids = await Promise.all(tags.map((tag) => valueIdOf(client, keys, tag)));
  const { resources } = await client.PUT('/v2/deployments/{deployment_id}/tag-values', {
    params: { path: { deployment_id: id } },
    body: { tag_value_ids: ids },
  });
  const nameOfKey = (keyId: string) => keys.find((key) => key.id === keyId)?.key;
  const kind: Kind<TagValue> = {
    ...valuesOf({ id: '', key: '', created_at: '' }),
    referenceOf: (each) => `${nameOfKey(each.tag_key_id)}=${each.value}`,
    columns: {
      KEY: (each) => nameOfKey(each.tag_key_id),
      VALUE: (each) => each.value,
      ID: (each) => each.id,
    },
  };
  return showAll(context, kind, resources);
}

const set = (host: Host) =>
  apiCommand('set', 'set the tags of a deployment', { details: 'Replaces all tags of the deployment.' })
    .argument(...DEPLOYMENT)
    .argument('[tags...]', 'KEY=VALUE; tags and values must exist')
    .option('--clear', 'remove all tags', false)
    .option(...yesTo('remove the tags'))
    .action(calling(host, setTags));

export function buildTags(made: Command, host: Host): void {
  for (const each of [...keyCommands(host), ...valueCommands(host), set(host)]) made.addCommand(each);
}
