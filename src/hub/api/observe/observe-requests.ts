import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RecordSpan } from '../../../domain/core/span.ts';
import type { ApiDeps } from '../core/deps.ts';
import { isOfCluster } from '../core/errors.ts';
import { changeSubject, noteSubjects } from './change-subject.ts';
import { type ApiObserver, UNOBSERVED } from './observer.ts';

/** Reports requests to metrics and traces. */

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether the response waits for events (a long poll, a followed log) or for a long body of the client, so that its
     * duration is not measured. A route that also responds at once decides for each request.
     */
    waits?: true | ((request: FastifyRequest) => boolean);
  }
}

/** The template of the route. The requested path cannot be a label, because it can contain any text. */
const routeOf = ({ routeOptions }: FastifyRequest) => routeOptions.config.url ?? 'none';

/** How a request ended. */
export interface RequestEnd {
  /** `aborted`: the client disconnected before it had received the whole response. */
  readonly status: number | 'aborted';
  /** Time until the response was sent or the client disconnected, in milliseconds. */
  readonly ms: number;
}

/** Called once per request, when all processing of the request has ended. */
export type OnRequestEnd = (request: FastifyRequest, reply: FastifyReply, end: RequestEnd) => void;

/** The progress of a request. */
interface Course {
  /** Whether the handler has finished. */
  isHandled: boolean;
  /** Whether the end was reported. */
  isReported: boolean;
  /** When the client disconnected, in milliseconds; null: the client has not disconnected. */
  goneAfter: number | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** null: the request has not begun. */
    course: Course | null;
  }
}

/**
 * Reports the end of requests. fastify reports only responses that were sent completely, at a higher cost per request.
 * @param began called with the route at the start of a request; returns the function to call at its end
 */
function watchEnds(
  app: FastifyInstance,
  began: (route: string) => () => void,
  onRequestEnd: OnRequestEnd,
): void {
  app.decorateRequest('course', null);
  /**
   * Reports an aborted request after its handler has finished, because the handler determines the subject in the log
   * line.
   */
  const reportAborted = (course: Course, request: FastifyRequest, reply: FastifyReply) => {
    if (course.goneAfter === null || course.isReported || !course.isHandled) return;
    course.isReported = true;
    onRequestEnd(request, reply, { status: 'aborted', ms: course.goneAfter });
  };
  app.addHook('onRequest', (request, reply, done) => {
    const beganAt = performance.now();
    const course: Course = { isHandled: false, isReported: false, goneAfter: null };
    request.course = course;
    const over = began(routeOf(request));
    const { raw } = reply;
    // `on` is used, because `once` would cost time in every request. For calls within the process, `finish` is emitted
    // twice (light-my-request).
    raw.on('finish', () => {
      if (course.isReported) return;
      course.isReported = true;
      onRequestEnd(request, reply, { status: reply.statusCode, ms: performance.now() - beganAt });
    });
    raw.on('close', () => {
      over();
      if (course.isReported) return;
      course.goneAfter = performance.now() - beganAt;
      reportAborted(course, request, reply);
    });
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    done(null, payload);
    const { course } = request;
    if (course === null) return;
    course.isHandled = true;
    reportAborted(course, request, reply);
  });
}

/** Counts requests that have ended. */
function countRequests(observer: ApiObserver): OnRequestEnd {
  return (request, _, { status, ms }) => {
    const { url = 'none', waits = false } = request.routeOptions.config;
    observer.answered({
      method: request.method,
      status,
      ofCluster: status !== 'aborted' && isOfCluster(request),
      seconds: ms / 1000,
      route: url,
      waits: typeof waits === 'function' ? waits(request) : waits,
    });
  };
}

/** Records the first span of a change, which is its request. */
function traceChanges(span: RecordSpan): OnRequestEnd {
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

/** Reports requests to metrics, to traces and to `onRequestEnd`, which writes a log line. */
export function observeRequests(
  app: FastifyInstance,
  { observer = UNOBSERVED, span }: ApiDeps,
  onRequestEnd: OnRequestEnd,
): void {
  const all = [countRequests(observer), ...(span === undefined ? [] : [traceChanges(span)]), onRequestEnd];
  const began = (route: string) => observer.began(route);
  watchEnds(app, began, (...end) => {
    for (const one of all) one(...end);
  });
  noteSubjects(app);
}
