import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RecordSpan } from '../../../domain/core/span.ts';
import type { ApiDeps } from '../core/deps.ts';
import { isOfCluster } from '../core/errors.ts';
import { changeSubject, noteSubjects } from './change-subject.ts';
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

/** How far a request is. */
interface Course {
  /** The handler is through. */
  isHandled: boolean;
  /** Its end was told. */
  isTold: boolean;
  /** When the client went, in milliseconds; null: it has not. */
  goneAfter: number | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** null: it has not begun. */
    course: Course | null;
  }
}

/**
 * Tells of ends: fastify itself tells only of answers that were sent whole, and with more work for each request.
 * @param began is told of the route when a request has come, and answers whom to call when its connection is done with it
 */
function watchEnds(app: FastifyInstance, began: (route: string) => () => void, tell: TellEnd): void {
  app.decorateRequest('course', null);
  /** What was asked for was done, or not, once it is handled: the line tells of which deployment. */
  const tellAborted = (course: Course, request: FastifyRequest, reply: FastifyReply) => {
    if (course.goneAfter === null || course.isTold || !course.isHandled) return;
    course.isTold = true;
    tell(request, reply, { status: 'aborted', ms: course.goneAfter });
  };
  app.addHook('onRequest', (request, reply, done) => {
    const beganAt = performance.now();
    const course: Course = { isHandled: false, isTold: false, goneAfter: null };
    request.course = course;
    const over = began(routeOf(request));
    const { raw } = reply;
    // Without `once`, which would cost every request; of a call within the process `finish` comes twice (light-my-request).
    raw.on('finish', () => {
      if (course.isTold) return;
      course.isTold = true;
      tell(request, reply, { status: reply.statusCode, ms: performance.now() - beganAt });
    });
    raw.on('close', () => {
      over();
      if (course.isTold) return;
      course.goneAfter = performance.now() - beganAt;
      tellAborted(course, request, reply);
    });
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    done(null, payload);
    const { course } = request;
    if (course === null) return;
    course.isHandled = true;
    tellAborted(course, request, reply);
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
function traceChanges(span: RecordSpan): TellEnd {
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
