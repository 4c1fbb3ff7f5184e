import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  buildLogsRequestSchema,
  buildLogsResponseSchema,
  logChunkResponseSchema,
  logChunkSchema,
  logRequestsQuerySchema,
  logRequestsResponseSchema,
} from '../../../contract/protocol/log-protocol.ts';
import {
  objectAnswerResponseSchema,
  objectAnswerSchema,
} from '../../../contract/protocol/object-protocol.ts';
import type { ObjectQuery } from '../../../domain/core/object-map.ts';
import { addBuildLog } from '../../store/builds/build-logs.ts';
import type { Scope } from '../../store/core/database.ts';
import { checkEpochOnly } from '../../store/listeners/listener-lease.ts';
import {
  addLogChunk,
  hasLogRequests,
  type TakenLogRequest,
  takeLogRequests,
} from '../../store/listeners/log-requests.ts';
import { disconnectSignal } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import { chunkBody } from '../logs/workload-logs.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { clean } from './listener-reports.ts';
import { createWorkHints, type WorkHints } from './work-hints.ts';

/** Dependencies that the routes of the listener protocol share. */
export interface ProtocolRoutes {
  readonly app: FastifyInstance;
  readonly deps: Pick<ApiDeps, 'secretBox' | 'logHints'>;
  readonly config: FastifyContextConfig;
  readonly scopeOf: (request: FastifyRequest, listenerId: string) => Promise<Scope>;
  /** Aborts when the server begins to shut down. */
  readonly closing: AbortSignal;
}

/** Time after which a waiting listener queries again, because notifications can be lost. */
const REQUERY_MS = 5000;

/** JSON without texts that PostgreSQL does not store. The manifest is JSON in a text, so its escapes stay escaped. */
const cleanJson = (value: object) =>
  JSON.stringify(value, (_, member) => (typeof member === 'string' ? clean(member) : member));

const params = z.object({ listener_id: z.uuid() });

interface Waiting {
  readonly scope: Scope;
  readonly hints: WorkHints;
  readonly listenerId: string;
  readonly epoch: number;
  /** The features that the listener supports. */
  readonly knows: readonly string[];
  /** Milliseconds. */
  readonly wait: number;
  readonly signal: AbortSignal;
}

/**
 * Log requests that the listener can serve, as soon as such a request exists; an empty list after the timeout. A
 * request that needs other features than the listener named keeps waiting, because a listener that previously called an
 * older hub names no features in its first call.
 * @throws StaleEpoch
 */
async function waitForReaders(waiting: Waiting): Promise<TakenLogRequest[]> {
  const { scope, hints, listenerId, epoch, knows, wait, signal } = waiting;
  const end = performance.now() + wait;
  for (;;) {
    const ticket = hints.ticket(listenerId);
    const wanted = await scope.read((reader) => hasLogRequests(reader, listenerId, epoch));
    // Each request is handed out once. A request that is handed to a disconnected listener would never be served.
    const taken =
      wanted && !signal.aborted
        ? await scope.transaction(async (transaction) => {
            await checkEpochOnly(transaction, listenerId, epoch);
            return takeLogRequests(transaction, listenerId, knows);
          })
        : [];
    const left = end - performance.now();
    if (taken.length > 0 || left <= 0 || signal.aborted) return taken;
    await hints.wait(listenerId, ticket, Math.min(left, REQUERY_MS), signal);
  }
}

const presentRequest = ({ id, deploymentId, tenantId, namespace, httpRequestId }: TakenLogRequest) => ({
  request_id: id,
  deployment_id: deploymentId,
  tenant_id: tenantId,
  namespace,
  ...(httpRequestId === null ? {} : { http_request_id: httpRequestId }),
});

/** The requests by what they read. */
function presentRequests(taken: readonly TakenLogRequest[]) {
  const [logs, objects] = [
    taken.filter(({ kind }) => kind === 'logs'),
    taken.filter(({ kind }) => kind === 'objects'),
  ];
  return {
    log_requests: logs.map((request) => ({ ...presentRequest(request), query: request.query })),
    object_requests: objects.map((request) => ({
      ...presentRequest(request),
      name: request.appName,
      query: request.query as unknown as ObjectQuery,
    })),
  };
}

function addReaderRoutes({ app, deps, config, scopeOf, closing }: ProtocolRoutes): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const hints = deps.logHints ?? createWorkHints();

  routes.get(
    '/v2/listeners/:listener_id/log-requests',
    {
      config: { ...config, waits: true },
      schema: {
        tags: ['listener protocol'],
        summary: 'Get requests to read logs or objects. The response waits until there is one.',
        params,
        querystring: logRequestsQuerySchema,
        response: { 200: logRequestsResponseSchema, ...errorAnswers(404, 409) },
      },
    },
    async (request, reply) => {
      const { listener_id: listenerId } = request.params;
      const scope = await scopeOf(request, listenerId);
      const { epoch, wait_seconds: seconds } = request.query;
      const knows = request.query.knows.split(',');
      const signal = disconnectSignal(reply, closing);
      const waiting = { scope, hints, listenerId, epoch, knows, wait: seconds * 1000, signal };
      return presentRequests(await waitForReaders(waiting));
    },
  );

  routes.post(
    '/v2/listeners/:listener_id/log-requests/:request_id',
    {
      config,
      schema: {
        tags: ['listener protocol'],
        summary: 'Send log lines to a reader.',
        params: params.extend({ request_id: z.uuid() }),
        body: logChunkSchema,
        response: { 200: logChunkResponseSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const { listener_id: id, request_id: requestId } = request.params;
      const { epoch, seq, lines, end, end_reason: reason } = request.body;
      const scope = await scopeOf(request, id);
      const cleaned = lines.map((line) => ({ ...line, text: clean(line.text) }));
      const ending =
        end === undefined ? {} : { end: clean(end), ...(reason === undefined ? {} : { reason }) };
      const body = chunkBody({ lines: cleaned, ...ending });
      const state = await scope.transaction(async (transaction) => {
        const added = await addLogChunk(transaction, id, requestId, { seq, body, last: end !== undefined });
        if (added === 'gone') throw notFound('reader of logs');
        await checkEpochOnly(transaction, id, epoch);
        return added;
      });
      return { state };
    },
  );
}

function addObjectRoute({ app, config, scopeOf }: ProtocolRoutes): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/listeners/:listener_id/object-requests/:request_id',
    {
      config,
      schema: {
        tags: ['listener protocol'],
        summary: 'Send objects to a reader.',
        params: params.extend({ request_id: z.uuid() }),
        body: objectAnswerSchema,
        response: { 200: objectAnswerResponseSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const { listener_id: id, request_id: requestId } = request.params;
      const { epoch, ...result } = request.body;
      const scope = await scopeOf(request, id);
      const chunk = { seq: 1, body: cleanJson(result), last: true };
      await scope.transaction(async (transaction) => {
        const added = await addLogChunk(transaction, id, requestId, chunk);
        if (added === 'gone') throw notFound('reader of objects');
        await checkEpochOnly(transaction, id, epoch);
      });
      return { state: 'taken' as const };
    },
  );
}

/** The listener calls that carry logs and objects (log-protocol.ts and object-protocol.ts of contract/protocol/). */
export function addLogRoutes(options: ProtocolRoutes): void {
  const { app, deps, config, scopeOf } = options;
  addReaderRoutes(options);
  addObjectRoute(options);
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.post(
    '/v2/listeners/:listener_id/build-logs',
    {
      config,
      schema: {
        tags: ['listener protocol'],
        summary: 'Send log lines of a build.',
        params,
        body: buildLogsRequestSchema,
        response: { 200: buildLogsResponseSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const { listener_id: id } = request.params;
      const {
        epoch,
        revision_id: revisionId,
        attempt,
        first_line: firstLine,
        lines,
        last = false,
      } = request.body;
      const scope = await scopeOf(request, id);
      const cleaned = lines.map((line) => ({ ...line, text: clean(line.text) }));
      const { nextLine, full } = await scope.transaction(async (transaction) => {
        await checkEpochOnly(transaction, id, epoch);
        const piece = { revisionId, attempt, firstLine, lines: cleaned, last };
        return addBuildLog(transaction, deps.secretBox, id, piece);
      });
      return { next_line: nextLine, full };
    },
  );
}
