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

/** Of a request that nobody was told of yet. */
interface Open {
  /** The handler is through. */
  isHandled: boolean;
  /** When the client went, in milliseconds; null: it has not. */
  goneAfter: number | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** null: its end was told, or it has not begun. */
    openEnd: Open | null;
  }
}

/**
 * Tells of ends: fastify itself tells only of answers that were sent whole.
 * @param began is told of the route when a request has come, and answers whom to call when its connection is done with it
 */
function watchEnds(app: FastifyInstance, began: (route: string) => () => void, tell: TellEnd): void {
  app.decorateRequest('openEnd', null);
  const aborted = (request: FastifyRequest, reply: FastifyReply, ms: number) => {
    request.openEnd = null;
    tell(request, reply, { status: 'aborted', ms });
  };
  app.addHook('onRequest', (request, reply, done) => {
    const open: Open = { isHandled: false, goneAfter: null };
    request.openEnd = open;
    const over = began(routeOf(request));
    // One listener for both: each would cost every request.
    reply.raw.once('close', () => {
      over();
      if (request.openEnd === null) return;
      open.goneAfter = reply.elapsedTime;
      if (open.isHandled) aborted(request, reply, open.goneAfter);
    });
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    done(null, payload);
    const open = request.openEnd;
    if (open === null) return;
    open.isHandled = true;
    // What was asked for was done, or not, by now: the line tells of which deployment.
    if (open.goneAfter !== null) aborted(request, reply, open.goneAfter);
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (request.openEnd !== null) {
      request.openEnd = null;
      tell(request, reply, { status: reply.statusCode, ms: reply.elapsedTime });
    }
    done();
  });
}

/** Counts requests whose end is known. */
function countRequests(observer: ApiObserver): TellEnd {
  return (request, _, { status, ms }) => {
    const { url = 'none', waits } = request.routeOptions.config;
    observer.answered({
      method: request.method,
      status: status !== 'aborted' && isOfCluster(request) ? 'cluster' : status,
      seconds: ms / 1000,
      route: url,
      waits: waits === true,
    });
  };
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
  const all = [countRequests(observer), ...(span === undefined ? [] : [traceChanges(span)]), tell];
  const began = (route: string) => observer.began(route);
  watchEnds(app, began, (...end) => {
    for (const one of all) one(...end);
  });
  noteSubjects(app);
}
