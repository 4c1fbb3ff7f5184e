import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TellSpan } from '../domain/span.ts';
import { changeSubject, noteSubjects } from './change-subject.ts';
import type { ApiDeps } from './deps.ts';
import { isOfCluster } from './errors.ts';
import { type ApiObserver, UNOBSERVED } from './observer.ts';

/** Requests as metrics and traces see them. */

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An answer may take as long as nothing happens: a long poll, a log that is followed. Its time tells nothing. */
    waits?: true;
  }
}

/** The route's template: what was asked for may hold anything. */
const routeOf = ({ routeOptions }: FastifyRequest) => routeOptions.config.url ?? 'none';

/** How a request ended. */
export interface RequestEnd {
  /** `aborted`: the client was gone before it had the whole answer. */
  readonly status: number | 'aborted';
  /** Until the answer was sent, or the client had gone, in milliseconds. */
  readonly ms: number;
}

/** Is told of each request once, when nothing of it is under way any more. */
export type TellEnd = (request: FastifyRequest, reply: FastifyReply, end: RequestEnd) => void;

/** Tells of ends: fastify itself tells only of answers that were sent whole. */
function watchEnds(app: FastifyInstance, tell: TellEnd): void {
  // Until it is told: whether the handler is through, and when the client went.
  const open = new WeakMap<FastifyRequest, { isHandled: boolean; goneAfter: number | undefined }>();
  app.addHook('onRequest', (request, reply, done) => {
    const state = { isHandled: false, goneAfter: undefined as number | undefined };
    open.set(request, state);
    reply.raw.once('close', () => {
      if (!open.has(request)) return;
      state.goneAfter = reply.elapsedTime;
      if (state.isHandled) ended(request, reply, state.goneAfter);
    });
    done();
  });
  const ended = (request: FastifyRequest, reply: FastifyReply, ms: number) => {
    open.delete(request);
    tell(request, reply, { status: 'aborted', ms });
  };
  app.addHook('onSend', (request, reply, payload, done) => {
    done(null, payload);
    const state = open.get(request);
    if (state === undefined) return;
    state.isHandled = true;
    // What was asked for was done, or not, by now: the line tells of which deployment.
    if (state.goneAfter !== undefined) ended(request, reply, state.goneAfter);
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (open.delete(request)) tell(request, reply, { status: reply.statusCode, ms: reply.elapsedTime });
    done();
  });
}

/** Counts requests from when they come until nothing is under way of them: whoever goes away ends them too. */
function countRequests(app: FastifyInstance, observer: ApiObserver): TellEnd {
  app.addHook('onRequest', (request, reply, done) => {
    const over = observer.began(routeOf(request));
    reply.raw.once('close', over);
    done();
  });
  return (request, _, { status, ms }) =>
    observer.answered({
      method: request.method,
      status: status !== 'aborted' && isOfCluster(request) ? 'cluster' : status,
      seconds: ms / 1000,
      route: routeOf(request),
      waits: request.routeOptions.config.waits === true,
    });
}

/** The first span of a change: the request for it. */
function traceChanges(span: TellSpan): TellEnd {
  return (request, reply, { ms }) => {
    const { deploymentId, generation, revisionId } = changeSubject(request);
    if (deploymentId === undefined || generation === undefined) return;
    const { method, headers, id } = request;
    const route = routeOf(request);
    const endedAt = Date.now();
    span({
      name: `${method} ${route}`,
      change: { deploymentId, generation },
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': reply.statusCode,
        'berth.request_id': id,
        'berth.revision_id': revisionId,
      },
      beganAt: endedAt - ms,
      endedAt,
      causedBy: [headers['traceparent']].flat()[0],
    });
  };
}

/** Lets metrics, traces and `tell`, which writes a line of the log, know of requests. */
export function observeRequests(
  app: FastifyInstance,
  { observer = UNOBSERVED, span }: ApiDeps,
  tell: TellEnd,
): void {
  const all = [countRequests(app, observer), ...(span === undefined ? [] : [traceChanges(span)]), tell];
  watchEnds(app, (...end) => {
    for (const one of all) one(...end);
  });
  noteSubjects(app);
}
