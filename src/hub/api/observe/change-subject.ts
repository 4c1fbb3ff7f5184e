import type { FastifyInstance, FastifyRequest, preSerializationHookHandler } from 'fastify';
import { UUID_PATTERN } from '../../../domain/core/id.ts';

/** What a request changed, for the log line that tells of it: from there a change can be followed into its cluster. */
export interface ChangeSubject {
  readonly deploymentId?: string;
  /** The latest revision of the deployment, or the one that is answered. */
  readonly revisionId?: string;
  /** Of what is wanted; with it the listener and the operator tell of the change. */
  readonly generation?: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What its answer told; null: nothing. */
    subject: ChangeSubject | null;
  }
}

const NONE: ChangeSubject = {};

/** As far as an answer tells. */
export function subjectOf(answer: unknown): ChangeSubject {
  if (typeof answer !== 'object' || answer === null) return NONE;
  const {
    id,
    deployment_id: owner,
    latest_revision_id: latest,
    generation,
  } = answer as Record<string, unknown>;
  if (typeof id !== 'string') return NONE;
  if (latest !== undefined && typeof generation === 'number') {
    const revision = typeof latest === 'string' ? { revisionId: latest } : {};
    return { deploymentId: id, ...revision, generation };
  }
  return typeof owner === 'string' ? { deploymentId: owner, revisionId: id } : NONE;
}

/** A request that changes nothing. */
export const isRead = (method: string) => method === 'GET' || method === 'HEAD';

const note: preSerializationHookHandler = (request, _reply, payload, done) => {
  request.subject = subjectOf(payload);
  done(null, payload);
};

/** Notes what each change answers of its deployment; of routes that are added later. Those that read go without the hook. */
export function noteSubjects(app: FastifyInstance): void {
  app.decorateRequest('subject', null);
  app.addHook('onRoute', (route) => {
    if ([route.method].flat().every(isRead)) return;
    route.preSerialization = [route.preSerialization ?? [], note].flat();
  });
}

/** What a request was about: what its answer told, else the deployment of its path. */
export function changeSubject(request: FastifyRequest): ChangeSubject {
  const { deployment_id: named = '' } = (request.params ?? {}) as { deployment_id?: string };
  // A path may hold anything.
  return { ...(UUID_PATTERN.test(named) ? { deploymentId: named } : {}), ...request.subject };
}
