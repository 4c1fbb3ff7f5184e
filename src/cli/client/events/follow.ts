import { type Context, show } from '../context.ts';
import { given } from '../given.ts';
import { followed } from '../logs/log-output.ts';
import { cell } from '../table.ts';
import { DEFAULT_LIMIT, type Event, type EventOptions, filterOf, idOf, row } from './events.ts';

/** `berth events --follow`. */

type Line = Partial<Event> & { readonly cursor?: string };

/** The number of stored events before new ones. Without it, the API sends all that match. */
const limitOf = ({ limit, since }: EventOptions) =>
  given({ limit: limit ?? (since === undefined ? DEFAULT_LIMIT : undefined) });

/**
 * The events from the stream of the API. A stream that ends early is continued after its last cursor.
 * @param id id of the deployment; null: all events of the tenant
 */
function streamed(context: Context, id: string | null, options: EventOptions): AsyncIterable<unknown> {
  const { client } = context;
  const filter = filterOf(options);
  let cursor: string | undefined;
  return followed(context, async function* () {
    const place = cursor === undefined ? limitOf(options) : { cursor };
    const query = { ...filter, ...place, follow: true };
    const lines =
      id === null
        ? client.lines('/v2/events', { params: { query } })
        : client.lines('/v2/deployments/{deployment_id}/events', {
            params: { path: { deployment_id: id }, query },
          });
    for await (const line of lines) {
      cursor = (line as Line).cursor ?? cursor;
      yield line;
    }
  });
}

/** Prints the newest events, and then new ones as they arrive: each as one line, or as one object or document. */
export async function follow(
  context: Context,
  name: string | undefined,
  options: EventOptions,
): Promise<undefined> {
  const id = name === undefined ? null : await idOf(context.client, name);
  for await (const line of streamed(context, id, options)) {
    const event = line as Event;
    if (context.format === 'yaml') context.print('---');
    if (context.format === 'json') context.print(JSON.stringify(event));
    else
      await show(context, event, {
        table: () =>
          row(event, id !== null)
            .map(cell)
            .join('  '),
      });
  }
}
