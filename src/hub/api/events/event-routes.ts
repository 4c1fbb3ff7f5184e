import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Reader, Scope } from '../../store/core/database.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import {
  type EventHorizon,
  type EventPlace,
  hasEventAt,
  placeBefore,
  placeBeforeNewest,
  readEventProgress,
  readEventsAfter,
} from '../../store/events/event-follow.ts';
import { listEvents } from '../../store/events/event-list.ts';
import { callerOf, tenantMissing, tenantOf } from '../core/auth.ts';
import { cutOff, disconnectSignal, onDisconnect, shutdownSignal } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound, wrongShape } from '../core/errors.ts';
import { createReaders, isFollowing, NDJSON, sendLines } from '../core/line-stream.ts';
import { deploymentParams, nextOffset } from '../core/query.ts';
import { createWorkHints } from '../listeners/work-hints.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import type { AccessWatch } from '../tenancy/access-watch.ts';
import { parseStreamCursor } from './event-cursor.ts';
import { createEventFeed } from './event-feed.ts';
import {
  deploymentEventsQuery,
  type EventsQuery,
  FOLLOW_MS,
  filterOf,
  pageOf,
  tenantEventsQuery,
} from './event-query.ts';
import { eventLineSchema, eventListSchema, presentEvent } from './event-schema.ts';
import { followEvents } from './event-stream.ts';

/** Maximum number of streams per process. Each stream holds a batch of events in memory. */
const READERS = { tenant: 10, all: 100 };
/** Group of the database's work (`forPlatform`) that the poll of the streams belongs to. */
const FOLLOWING = 'events';
/** Key that counts the streams of the platform, as the id counts those of a tenant. */
const PLATFORM = 'platform';

/** Which history is requested. `tenantId: null`: of all tenants and the platform. */
interface History {
  readonly tenantId: string | null;
  readonly scope: Scope;
}

const CURSOR_LOST = {
  loc: ['query', 'cursor'],
  msg: 'names an event that is not stored: it belongs to another tenant, or the database lost the latest events. Read the list of events, and follow without cursor',
  type: 'value_error',
};

/** @throws ApiError 422 */
async function placeOf(
  reader: Reader,
  tenantId: string | null,
  query: EventsQuery,
  { settled }: EventHorizon,
): Promise<EventPlace> {
  const { cursor, limit } = query;
  if (cursor === undefined) {
    const filter = filterOf(query);
    if (limit === undefined) return placeBefore(reader, tenantId, filter.since, settled);
    return placeBeforeNewest(reader, tenantId, filter, { count: limit, settled });
  }
  const place = parseStreamCursor(cursor);
  if (place === null || !(await hasEventAt(reader, tenantId, place))) throw wrongShape([CURSOR_LOST]);
  return place;
}

async function readPage(reader: Reader, tenantId: string | null, query: EventsQuery) {
  const { limit, ...page } = pageOf(query);
  // One more event is read to find out whether a next page exists.
  const found = await listEvents(reader, tenantId, filterOf(query), { ...page, limit: limit + 1 });
  const events = found.slice(0, limit);
  return {
    resources: events.map(presentEvent),
    // Pages by cursor have no offset: the number of events before the page is not known.
    offset: query.cursor === undefined ? nextOffset(query, events) : null,
    cursor: found.length > limit ? (events.at(-1)?.id ?? null) : null,
  };
}

/** Answers requests with `follow`. */
function createFollowing(app: FastifyInstance, deps: ApiDeps, watch: AccessWatch) {
  const { database } = deps;
  const closing = shutdownSignal(app);
  const readers = createReaders(READERS, 'streams of events');
  const feed = createEventFeed(
    (after) => database.forPlatform(FOLLOWING).read((reader) => readEventProgress(reader, after)),
    deps.eventHints ?? createWorkHints(),
  );
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    { tenantId, scope }: History,
    query: EventsQuery,
  ): Promise<FastifyReply> => {
    onDisconnect(reply, readers.enter(tenantId ?? PLATFORM));
    const lost = await watch.lost(request, reply);
    const signal = AbortSignal.any([disconnectSignal(reply, closing), lost.signal]);
    const horizon = await feed.now();
    const place = await scope.read((reader) => placeOf(reader, tenantId, query, horizon));
    cutOff(reply, FOLLOW_MS);
    const filter = filterOf(query);
    const batches = followEvents({
      feed,
      tenantId,
      place,
      horizon,
      read: (after, settled) =>
        scope.read((reader) => readEventsAfter(reader, tenantId, filter, { place: after, settled })),
      isAllowed: async () => !lost.signal.aborted,
      lost,
      until: filter.until,
      signal,
    });
    return sendLines(reply, batches, deps.logger);
  };
}

type Following = ReturnType<typeof createFollowing>;

/** The response of both routes. */
const EVENTS_ANSWER = {
  description: 'A page of events, or a stream of events.',
  content: {
    'application/json': { schema: eventListSchema },
    [NDJSON]: { schema: eventLineSchema },
  },
};

/** The tenant whose history is requested; null: the whole history, for admins that name no tenant. */
function auditedTenant(request: FastifyRequest): string | null {
  const { tenantId, scopes } = callerOf(request);
  if (tenantId === null && !scopes.includes('admin')) throw tenantMissing();
  return tenantId;
}

const FOLLOWED =
  'With `follow=true`, the response is a stream: the stored events, oldest first, and then new ones. Events are sent in the order in which they became visible, and each event is sent once.';

function tenantEvents(app: FastifyInstance, deps: ApiDeps, follow: Following): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/events',
    {
      config: { access: { scopes: ['deployments:read'], tenant: 'any' }, waits: isFollowing },
      schema: {
        tags: ['events'],
        summary: 'List events of the tenant',
        description: `The history of a tenant, newest first: deployments, keys, quotas and everything else. With an admin key of the platform that has no tenant, the response contains the history of all tenants and of the platform, including deleted tenants. ${FOLLOWED}`,
        querystring: tenantEventsQuery,
        response: { 200: EVENTS_ANSWER, ...errorAnswers() },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const tenantId = auditedTenant(request);
      const { database } = deps;
      const scope = tenantId === null ? database.platform : database.forTenant(tenantId);
      if (query.follow) return follow(request, reply, { tenantId, scope }, query);
      return reply.send((await scope.read((reader) => readPage(reader, tenantId, query))) as never);
    },
  );
}

/** The history of a deleted deployment still exists. @throws ApiError 404 */
async function requireHistory(reader: Reader, tenantId: string, deploymentId: string): Promise<void> {
  if ((await findDeployment(reader, tenantId, deploymentId)) !== null) return;
  const found = await listEvents(reader, tenantId, { deploymentId }, { limit: 1, offset: 0 });
  if (found.length === 0) throw notFound('deployment');
}

/** `/v2/events` and `/v2/deployments/{id}/events`. */
export function eventRoutes(app: FastifyInstance, deps: ApiDeps, watch: AccessWatch): void {
  const follow = createFollowing(app, deps, watch);
  tenantEvents(app, deps, follow);
  app.withTypeProvider<ZodTypeProvider>().get(
    '/v2/deployments/:deployment_id/events',
    {
      config: { access: { scopes: ['deployments:read'] }, waits: isFollowing },
      schema: {
        tags: ['events'],
        summary: 'List events',
        description: `The history of a deployment, newest first: each change with its author, and each change of a status with its reason. The history remains after the deletion of the deployment. ${FOLLOWED}`,
        params: deploymentParams,
        querystring: deploymentEventsQuery,
        response: { 200: EVENTS_ANSWER, ...errorAnswers(404) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const query = { ...request.query, deployment_id: request.params.deployment_id };
      const scope = deps.database.forTenant(tenantId);
      if (query.follow) {
        await scope.read((reader) => requireHistory(reader, tenantId, query.deployment_id));
        return follow(request, reply, { tenantId, scope }, query);
      }
      const page = await scope.read(async (reader) => {
        const found = await readPage(reader, tenantId, query);
        if (found.resources.length === 0) await requireHistory(reader, tenantId, query.deployment_id);
        return found;
      });
      return reply.send(page as never);
    },
  );
}
