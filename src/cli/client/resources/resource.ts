import type { Command } from 'commander';
import type { Host } from '../../command/host.ts';
import { apiCommand, calling } from '../call.ts';
import { ApiProblem, isMissing } from '../call-problem.ts';
import type { Client } from '../client.ts';
import { type Context, show } from '../context.ts';
import { UUID } from '../lookup.ts';
import { allOf, type Page } from '../paging.ts';
import { cell, fields, table } from '../table.ts';
import { confirm } from '../terminal/confirm.ts';
import { yesTo } from '../terminal/yes.ts';

/** `list`, `get` and `delete` of a kind of object, from a description of the kind. */

type Value = string | number | boolean | null | undefined;

export interface Kind<Item> {
  /** One object in messages and in the help, such as `listener`. */
  readonly noun: string;
  /** The command that lists the objects. */
  readonly listed: string;
  /** Calls the API for a page of the list. */
  list(client: Client, page: Page): Promise<{ readonly resources: readonly Item[]; readonly offset: number }>;
  /** Calls the API for one object. Only for kinds whose list does not contain every object. */
  get?(client: Client, id: string): Promise<Item>;
  readonly idOf: (item: Item) => string;
  /** The name that commands accept beside the id. */
  readonly nameOf: (item: Item) => string;
  /** What `-o name` prints: the name (default) or the id. */
  readonly referenceOf?: (item: Item) => string;
  /** What is shown of an object. */
  readonly columns: Readonly<Record<string, (item: Item) => Value>>;
}

const headersOf = <Item>({ columns }: Kind<Item>) => Object.keys(columns);
const cellsOf = <Item>({ columns }: Kind<Item>, item: Item) =>
  Object.values(columns).map((value) => cell(value(item)));

const referenceTo = <Item>({ referenceOf, nameOf }: Kind<Item>) => referenceOf ?? nameOf;

/** Prints a list of objects. */
export function showAll<Item>(
  context: Context,
  kind: Kind<Item>,
  items: readonly Item[],
): Promise<undefined> {
  const rows = () => items.map((item) => cellsOf(kind, item));
  return show(context, items, {
    table: () => table(headersOf(kind), rows()),
    names: () => items.map(referenceTo(kind)),
  }) as Promise<undefined>;
}

const title = (header: string) => `${header.charAt(0)}${header.slice(1).toLowerCase()}`;

/** Prints one object. */
export function showOne<Item>(context: Context, kind: Kind<Item>, item: Item): Promise<undefined> {
  const cells = cellsOf(kind, item);
  const lines = () => fields(headersOf(kind).map((header, index) => [title(header), cells[index] ?? '']));
  return show(context, item, { table: lines, names: () => [referenceTo(kind)(item)] }) as Promise<undefined>;
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/**
 * Finds an object by id or name.
 * @throws ApiProblem when no object matches, or several have the name
 */
export async function findOne<Item>(client: Client, kind: Kind<Item>, word: string): Promise<Item> {
  const byId = UUID.test(word) ? await kind.get?.(client, word).catch(nullIfMissing) : null;
  if (byId != null) return byId;
  const all = await allOf((page) => kind.list(client, page));
  const identified = all.find((item) => kind.idOf(item) === word.toLowerCase());
  const named = all.filter((item) => kind.nameOf(item) === word);
  const found = identified ?? named[0];
  if (found === undefined)
    throw new ApiProblem(404, `404: there is no ${kind.noun} "${word}"`, `berth ${kind.listed}`);
  if (identified === undefined && named.length > 1)
    throw new ApiProblem(
      409,
      `"${word}" is the name of several: ${named.map(kind.idOf).join(', ')}`,
      `use an id of berth ${kind.listed}`,
    );
  return found;
}

const article = (noun: string) => (/^[aeiou]/i.test(noun) ? 'an' : 'a');

/** The argument of commands for one object. */
export const oneOf = <Item>({ noun }: Kind<Item>) =>
  [`<${noun.replaceAll(' ', '-')}>`, `id or name of the ${noun}`] as const;

export function listCommand<Item>(host: Host, kind: Kind<Item>): Command {
  return apiCommand('list', `list the ${kind.noun}s`).action(
    calling(host, async (context) =>
      showAll(context, kind, await allOf((page) => kind.list(context.client, page))),
    ),
  );
}

export function getCommand<Item>(host: Host, kind: Kind<Item>): Command {
  return apiCommand('get', `show ${article(kind.noun)} ${kind.noun}`)
    .argument(...oneOf(kind))
    .action(
      calling(host, async (context, word: string) =>
        showOne(context, kind, await findOne(context.client, kind, word)),
      ),
    );
}

/** Asks before an object is deleted, deletes it, and prints what was deleted. */
export async function deleteAfterQuestion(
  context: Context,
  { what, yes, verb = 'delete' }: { what: string; yes: boolean; verb?: string },
  remove: () => Promise<unknown>,
): Promise<undefined> {
  await confirm(`${title(verb)} the ${what}?`, yes);
  await remove();
  context.note(`${verb}d the ${what}`);
}

/** @param verb `delete`, or what the API calls it, such as `revoke` */
export function deleteCommand<Item>(
  host: Host,
  kind: Kind<Item>,
  remove: (client: Client, id: string) => Promise<unknown>,
  verb = 'delete',
): Command {
  return apiCommand(verb, `${verb} ${article(kind.noun)} ${kind.noun}`, { formats: [] })
    .argument(...oneOf(kind))
    .option(...yesTo(verb))
    .action(
      calling(host, async (context, word: string, { yes }: { yes: boolean }) => {
        const item = await findOne(context.client, kind, word);
        const what = `${kind.noun} "${cell(kind.nameOf(item))}"`;
        return deleteAfterQuestion(context, { what, yes, verb }, () =>
          remove(context.client, kind.idOf(item)),
        );
      }),
    );
}

/** Values that are separated by commas. */
export const words = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
