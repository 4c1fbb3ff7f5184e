import { isMissing } from '../call-problem.ts';
import type { Answer, Client } from '../client.ts';
import { type Context, show } from '../context.ts';
import { given } from '../given.ts';
import { lookUpDeployment, UUID } from '../lookup.ts';
import { allOf } from '../paging.ts';
import { cell, table } from '../table.ts';

export type Event = Answer<'get', '/v2/events'>['resources'][number];

export interface EventOptions {
  readonly reason?: string;
  /** ISO 8601, as `until`. */
  readonly since?: string;
  readonly until?: string;
  readonly limit?: number;
  readonly follow: boolean;
}

/** Number of stored events without `--limit`. */
export const DEFAULT_LIMIT = 100;

/** The filters of the list. */
export const filterOf = ({ reason, since, until }: EventOptions) => given({ reason, since, until });

/** The cells of an event. Events of one deployment do not name it. */
export function row(
  { at, reason, message, actor, deployment_id: deployment }: Event,
  ofOne: boolean,
): string[] {
  const by = cell(actor.name ?? actor.kind);
  return [at, reason, ...(ofOne ? [] : [cell(deployment)]), by, cell(message)];
}

/** The id of a deployment. The history remains when a deployment is gone, so its id is enough. */
export async function idOf(client: Client, word: string): Promise<string> {
  try {
    return (await lookUpDeployment(client, word, true)).id;
  } catch (error) {
    if (isMissing(error) && UUID.test(word)) return word;
    throw error;
  }
}

type Page = Answer<'get', '/v2/events'>;

/** The newest events, and whether there are older ones that match. */
async function newest(
  ask: (page: { limit: number; offset: number }) => Promise<Page>,
  limit: number,
): Promise<{ readonly found: readonly Event[]; readonly hasOlder: boolean }> {
  let hasOlder = false;
  const found = await allOf<Event>(async (page) => {
    const answer = await ask(page);
    hasOlder = answer.cursor !== null;
    return answer;
  }, limit);
  return { found, hasOlder };
}

/** Prints the newest events, oldest first, so that the newest is next to the prompt. */
export async function events(
  context: Context,
  name: string | undefined,
  options: EventOptions,
): Promise<undefined> {
  const { client } = context;
  const id = name === undefined ? null : await idOf(client, name);
  const path = { deployment_id: id ?? '' };
  const filter = filterOf(options);
  const { found, hasOlder } = await newest(
    (page) =>
      id === null
        ? client.GET('/v2/events', { params: { query: { ...filter, ...page } } })
        : client.GET('/v2/deployments/{deployment_id}/events', {
            params: { path, query: { ...filter, ...page } },
          }),
    options.limit ?? DEFAULT_LIMIT,
  );
  const ordered = found.toReversed();
  const header = ['TIME', 'REASON', ...(id === null ? ['DEPLOYMENT'] : []), 'BY', 'MESSAGE'];
  const rows = () => ordered.map((event) => row(event, id !== null));
  await show(context, ordered, { table: () => table(header, rows()) });
  if (hasOlder)
    context.note(
      `only the newest ${found.length === 1 ? 'event is' : `${found.length} events are`} shown; next: --limit N shows more`,
    );
}
