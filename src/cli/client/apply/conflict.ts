import type { Deployment } from '../api.gen.ts';
import type { Answer, Client } from '../client.ts';
import type { Context } from '../context.ts';
import { liveByName } from '../lookup.ts';
import { cell } from '../table.ts';
import { changeLine, readChanges } from './changes.ts';
import type { Planned } from './plan.ts';

/** What another client changed between the read of a deployment and its change. */

type Event = Answer<'get', '/v2/deployments/{deployment_id}/events'>['resources'][number];

const MAX_EVENTS = 20;

/** Events after the deployment was read, oldest first. */
async function eventsSince(client: Client, { id, updated_at: since }: Deployment): Promise<Event[]> {
  const params = { path: { deployment_id: id }, query: { since, limit: MAX_EVENTS } };
  const { resources } = await client.GET('/v2/deployments/{deployment_id}/events', { params });
  return resources.filter(({ at }) => at > since).toReversed();
}

const eventLine = ({ at, reason, actor, message }: Event) =>
  `  ${at} ${reason} by ${cell(actor.name ?? actor.kind)}: ${cell(message)}`;

/** The lines that describe a concurrent change. */
async function linesOf(client: Client, { wanted, before }: Planned): Promise<string[]> {
  const now = await liveByName(client, wanted.name, true);
  if (before === null) return now === null ? [] : [`  it was created at ${now.created_at}`];
  if (now?.id !== before.id) return ['  it was deleted'];
  const events = await eventsSince(client, before);
  return [...events.map(eventLine), ...readChanges(before, now).map((change) => `  ${changeLine(change)}`)];
}

/** Reports a concurrent change of a deployment. */
export async function reportConflict(context: Context, planned: Planned): Promise<void> {
  const { name } = planned.wanted;
  context.note(`berth: ${cell(name)} was not changed, because another client changed it meanwhile:`);
  for (const line of await linesOf(context.client, planned)) context.note(line);
  context.note('next: compare with berth diff, then run berth apply again');
}
