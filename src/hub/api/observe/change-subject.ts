import type { FastifyInstance, FastifyRequest, preSerializationHookHandler } from 'fastify';
import { UUID_PATTERN } from '../../../domain/core/id.ts';

/**
 * The object that a request changed. The log line names the object, so that a change can be traced into its cluster.
 */
export interface ChangeSubject {
  readonly deploymentId?: string;
  /** The latest revision of the deployment, or the revision in the response. */
  readonly revisionId?: string;
  /** The generation of the desired state. The logs of listener and operator also contain it. */
  readonly generation?: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The subject from the response; null: the response has no subject. */
    subject: ChangeSubject | null;
  }
}

const NONE: ChangeSubject = {};

/** Reads the subject from a response. */
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

/**
 * Records the subject of each change, for all routes that are registered later. Routes that only read do not have this
 * hook.
 */
export function noteSubjects(app: FastifyInstance): void {
  app.decorateRequest('subject', null);
  app.addHook('onRoute', (route) => {
    if ([route.method].flat().every(isRead)) return;
    route.preSerialization = [route.preSerialization ?? [], note].flat();
  });
}

/** The subject of a request: from its response, otherwise the deployment of its path. */
export function changeSubject(request: FastifyRequest): ChangeSubject {
  const { deployment_id: named = '' } = (request.params ?? {}) as { deployment_id?: string };
  // The path is checked, because it can contain any text.
  return { ...(UUID_PATTERN.test(named) ? { deploymentId: named } : {}), ...request.subject };
}
