import { z } from 'zod';
import { isEventReason } from '../../../domain/conditions/event-reasons.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import type { EventFilter } from '../../store/events/event-filter.ts';
import { NDJSON } from '../core/line-stream.ts';
import { booleanQuery, csvQuery, DEFAULT_LIMIT, integer, pageQuery } from '../core/query.ts';
import { isListCursor, parseStreamCursor } from './event-cursor.ts';
import { REASONS_LISTED } from './event-schema.ts';

/** Maximum time of a request that follows events. */
export const FOLLOW_MS = 30 * 60_000;

const reason = z
  .string()
  .refine(isEventReason, 'is not the reason of an event, such as Patched or RolloutFailed');
const time = z.iso.datetime({ offset: true }).max(40);

const parameters = {
  reason: csvQuery(reason)
    .optional()
    .meta({
      description: `Reasons, separated by commas. An event with any of them matches. ${REASONS_LISTED}`,
      examples: ['Patched,RolloutFailed'],
    }),
  since: time.optional().describe('Return only events of this time or later.'),
  until: time
    .optional()
    .describe(
      'Return only events before this time. With `follow`, the stream ends when all events before this time were sent.',
    ),
  limit: integer(z.int().min(1).max(100))
    .optional()
    .describe(
      `Maximum number of events in the response, 1 to 100. Default ${DEFAULT_LIMIT}. With \`follow\` and without \`cursor\`: the number of newest stored events that are sent before new ones. Default: all stored events that match.`,
    ),
  offset: pageQuery.offset.describe(
    'Number of events to skip: the offset of the previous response. Default 0. New events shift the pages, so use `cursor` to read many pages. Cannot be used with `cursor` or `follow`.',
  ),
  cursor: z
    .string()
    .max(60)
    .optional()
    .describe(
      'Where to continue, with the same filters: the `cursor` of the previous response. With `follow`: the `cursor` of the last line that the client has processed.',
    ),
  follow: booleanQuery
    .default(false)
    .describe(
      `true: stream the events as ${NDJSON}, oldest first: the stored events that match, and then new events as they are stored, for at most ${FOLLOW_MS / 60_000} minutes. Each line has a \`cursor\`. The last line is an object with the members \`end\` and \`reason\`. Empty lines keep the connection alive.`,
    ),
};

interface Parameters {
  since?: string | undefined;
  until?: string | undefined;
  limit?: number | undefined;
  offset: number;
  cursor?: string | undefined;
  follow: boolean;
}

interface Rule {
  readonly path: keyof Parameters;
  readonly message: string;
  readonly isBroken: (query: Parameters) => boolean;
}

const isBefore = (a: string, b: string) => Date.parse(a) < Date.parse(b);

/** Rules between parameters. The error names the parameter of `path`. */
const RULES: readonly Rule[] = [
  {
    path: 'until',
    message: 'must be after since',
    isBroken: ({ since, until }) => since !== undefined && until !== undefined && !isBefore(since, until),
  },
  {
    path: 'offset',
    message: 'must not be used with cursor or follow',
    isBroken: ({ offset, cursor, follow }) => offset > 0 && (follow || cursor !== undefined),
  },
  {
    path: 'limit',
    message: 'must not be used with follow and cursor, because all events after the cursor are sent',
    isBroken: ({ limit, cursor, follow }) => follow && cursor !== undefined && limit !== undefined,
  },
  {
    path: 'cursor',
    message: 'must be the cursor of a line of a stream, because follow is true',
    isBroken: ({ cursor, follow }) => follow && cursor !== undefined && parseStreamCursor(cursor) === null,
  },
  {
    path: 'cursor',
    message: 'must be the cursor of a page of this list',
    isBroken: ({ cursor, follow }) => !follow && cursor !== undefined && !isListCursor(cursor),
  },
];

/** Adds the rules to a query. */
function withRules<Query extends Parameters, Schema extends z.ZodType<Query>>(schema: Schema): Schema {
  return RULES.reduce<Schema>(
    (checked, { path, message, isBroken }) =>
      checked.refine((query) => !isBroken(query), { path: [path], message }) as Schema,
    schema,
  );
}

/** The query of the events of a deployment. */
export const deploymentEventsQuery = withRules(z.strictObject(parameters));

/** The query of the events of a tenant. */
export const tenantEventsQuery = withRules(
  z.strictObject({
    ...parameters,
    deployment_id: uuidSchema
      .optional()
      .describe('Return only events of this deployment, even if the deployment was deleted.'),
  }),
);

/** A query of either route. */
export type EventsQuery = z.infer<typeof deploymentEventsQuery> & { readonly deployment_id?: string };

const timeOf = (text: string | undefined) => (text === undefined ? undefined : new Date(text));

/** The filters of a query. */
export const filterOf = ({ deployment_id, reason, since, until }: EventsQuery): EventFilter => ({
  deploymentId: deployment_id,
  reasons: reason,
  since: timeOf(since),
  until: timeOf(until),
});

/** The page of a query of a list. */
export const pageOf = ({ limit = DEFAULT_LIMIT, offset, cursor }: EventsQuery) => ({
  limit,
  offset,
  before: cursor,
});
