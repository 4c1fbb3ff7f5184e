import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { MAX_LOG_REQUESTS } from '../../../contract/protocol/log-protocol.ts';
import type { ObjectFailure } from '../../../contract/protocol/object-protocol.ts';
import {
  clusterObjectSchema,
  type ObjectQuery,
  objectEventSchema,
  objectMetricsSchema,
  objectNameSchema,
  omittedObjectsSchema,
  READ_KINDS,
  unreadKindSchema,
} from '../../../domain/core/object-map.ts';
import type { Reader } from '../../store/core/database.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import { mayPrintReferences } from '../../store/deployments/revisions.ts';
import { listenerAbilities } from '../../store/listeners/log-requests.ts';
import { callerOf, tenantOf } from '../core/auth.ts';
import { shutdownSignal } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { createReaders } from '../core/line-stream.ts';
import { deploymentParams, noQuery } from '../core/query.ts';
import type { RateLimiter } from '../core/rate-limit.ts';
import { createWorkHints } from '../listeners/work-hints.ts';
import type { LogMasks } from '../logs/log-masks.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import type { AccessWatch } from '../tenancy/access-watch.ts';
import { mapAnswer, objectAnswer } from './object-answers.ts';
import { full, type ObjectsRead, OUTDATED_LISTENER, readObjects } from './object-reading.ts';
import { ObjectSharing, type ReadResult, type Showing } from './object-sharing.ts';

/** Maximum number of reads per process. Each holds a result in memory, which callers share. */
const READERS = { tenant: 20, all: 200 };
/** Maximum number of callers per process that wait for reads. */
const CALLERS = { tenant: 200, all: 1000 };
const OF_LISTENER = { tenant: 10, all: MAX_LOG_REQUESTS };
const RETRY_SECONDS = 10;

const objectMapSchema = z
  .object({
    resources: z
      .array(clusterObjectSchema)
      .describe('The custom resource first. The owner of an object comes before the object.'),
    omitted: z
      .array(omittedObjectsSchema)
      .describe('Kinds of which only the most important objects are listed. Empty: all objects are listed.'),
    unread: z
      .array(unreadKindSchema)
      .describe('Kinds whose objects could not be read. Empty: all kinds of the cluster were read.'),
    metrics: objectMetricsSchema,
  })
  .meta({ id: 'ObjectMap', description: 'The objects of a deployment in its cluster.' });

const objectSchema = z
  .object({
    object: clusterObjectSchema,
    yaml: z
      .string()
      .nullable()
      .describe(
        'The object as YAML, without managedFields. The values of the secrets of the deployment are masked. null: the object is too large.',
      ),
    events: z.array(objectEventSchema).describe('Events of Kubernetes about the object, newest first.'),
    unread: z.array(unreadKindSchema).describe('Not empty: the events could not be read.'),
  })
  .meta({ id: 'ObjectDetails', description: 'An object with its YAML and events.' });

const params = deploymentParams.extend({
  kind: z.enum(READ_KINDS).describe('Kind of the object. Secrets cannot be read.'),
  name: objectNameSchema.describe('Name of the object.'),
});

const unreadable = (detail: string) =>
  new ApiError(503, detail, { retryAfterSeconds: RETRY_SECONDS, ofCluster: true });

const FAILURES: Readonly<Record<ObjectFailure, () => ApiError>> = {
  not_found: () => notFound('object'),
  denied: () => unreadable('The listener of the cluster lacks the right to read the object.'),
  unavailable: () => unreadable('The cluster of the deployment does not respond.'),
  busy: full,
};
const UNREACHABLE =
  'The cluster of the deployment currently cannot be reached, so its objects cannot be read.';
const UNKNOWN_ANSWER = 'The listener of the cluster sent an answer that this version does not support.';

/** What a request reads. */
interface Place {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly listenerId: string;
}

/** @throws ApiError 404, 409, 503 */
async function placeOf(deps: ApiDeps, request: FastifyRequest, deploymentId: string): Promise<Place> {
  const tenantId = tenantOf(request);
  return deps.database.forTenant(tenantId).read(async (reader) => {
    const found = await findDeployment(reader, tenantId, deploymentId);
    if (found === null) throw notFound('deployment');
    const { listenerId, listener } = found;
    const { alive, leased, returning = false } = listener;
    // A listener that was disconnected may read objects before its first inventory.
    if (!alive && !(leased && returning)) throw unreadable(UNREACHABLE);
    const abilities = await listenerAbilities(reader, listenerId);
    if (abilities !== null && !abilities.includes('objects')) throw new ApiError(409, OUTDATED_LISTENER);
    return { tenantId, deploymentId, listenerId };
  });
}

export interface ObjectAccess {
  readonly limiter: RateLimiter;
  readonly masks: LogMasks;
  readonly watch: Pick<AccessWatch, 'ensure'>;
}

/**
 * Reads through the listener, with the limits of this process, and returns the text of the response. A shared read counts once
 * in the rate of the tenant.
 */
function createReading(app: FastifyInstance, deps: ApiDeps, { limiter, masks, watch }: ObjectAccess) {
  const signal = shutdownSignal(app);
  const readers = createReaders(READERS, 'objects');
  const callers = createReaders(CALLERS, 'objects');
  const hints = deps.logHints ?? createWorkHints();
  const sharing = new ObjectSharing();
  const referencesOf = (reader: Reader, { tenantId, deploymentId }: Place) =>
    mayPrintReferences(reader, tenantId, deploymentId);

  /** Secrets and references are read before, because they can be removed while the listener reads what they appear in. */
  const read = async (request: FastifyRequest, place: Place, query: ObjectQuery): Promise<ReadResult> => {
    const maskNow = masks.of(place.tenantId, place.deploymentId);
    const hadReferences = await deps.database.forTenant(place.tenantId).read(async (reader) => {
      await maskNow(reader);
      return referencesOf(reader, place);
    });
    const reading = { ...place, deps, hints, most: OF_LISTENER, httpRequestId: request.id, signal };
    return { ...(await readObjects(reading, query)), maskNow, hadReferences };
  };
  const start: typeof read = async (request, place, query) => {
    const leave = readers.enter(place.tenantId);
    try {
      limiter.clusterRead(place.tenantId);
      return await read(request, place, query);
    } finally {
      leave();
    }
  };
  /** What the caller may see now, after the wait. @throws ApiError 401 */
  const showingOf = async (
    request: FastifyRequest,
    place: Place,
    { maskNow, hadReferences }: ReadResult,
  ): Promise<Showing> => {
    await watch.ensure(request);
    const sees = callerOf(request).scopes.includes('secrets:read');
    return deps.database.forTenant(place.tenantId).read(async (reader) => {
      const mask = await maskNow(reader);
      return { mask, withholds: !sees && (hadReferences || (await referencesOf(reader, place))) };
    });
  };
  return async (
    request: FastifyRequest,
    place: Place,
    query: ObjectQuery,
    render: (read: ObjectsRead, showing: Showing) => Promise<string>,
  ): Promise<string> => {
    const leave = callers.enter(place.tenantId);
    try {
      const key = JSON.stringify([place.tenantId, place.deploymentId, query]);
      const result = await sharing.results.get(key, () => start(request, place, query));
      const showing = await showingOf(request, place, result);
      const { failure } = result.read;
      if (failure !== undefined) throw FAILURES[failure]();
      return await sharing.text(result, showing, () => render(result.read, showing));
    } finally {
      leave();
    }
  };
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends a text that was formed through the schema of the route. */
const sendText = (reply: FastifyReply, text: string) => reply.type(JSON_TYPE).serializer(String).send(text);

/** Forms the text of a response through the schema of the route. */
function writerOf(reply: FastifyReply): (answer: object) => string {
  const write = reply.getSerializationFunction('200') as ((answer: object) => string) | undefined;
  if (write === undefined) throw new Error('failed to send objects: the route has no schema for them');
  return write;
}

/** `/v2/deployments/{id}/objects`. */
export function objectRoutes(app: FastifyInstance, deps: ApiDeps, access: ObjectAccess): void {
  const read = createReading(app, deps, access);
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v2/deployments/:deployment_id/objects',
    {
      config: { access: { scopes: ['deployments:read'] }, waits: true },
      schema: {
        tags: ['deployments'],
        summary: 'List the objects of a deployment in its cluster',
        description:
          'Returns the Kubernetes objects of the deployment with their owners and states, and for pods their containers with requests, limits, and usage if the cluster has a metrics API. The listener reads the objects on demand. Berth keeps them only until the response is sent. Secrets are listed by name only. In messages, reasons and names of images, the values of the secrets of the deployment are masked, and in messages also credentials of a known form, such as `password=…`.',
        params: deploymentParams,
        querystring: noQuery,
        response: { 200: objectMapSchema, ...errorAnswers(404, 409, 504) },
      },
    },
    async (request, reply) => {
      const write = writerOf(reply);
      const place = await placeOf(deps, request, request.params.deployment_id);
      const text = await read(request, place, { read: 'map' }, async ({ map }, showing) => {
        if (map === undefined) throw unreadable(UNKNOWN_ANSWER);
        return write(await mapAnswer(map, showing));
      });
      return sendText(reply, text);
    },
  );

  routes.get(
    '/v2/deployments/:deployment_id/objects/:kind/:name',
    {
      config: { access: { scopes: ['deployments:read'] }, waits: true },
      schema: {
        tags: ['deployments'],
        summary: 'Get an object of a deployment',
        description:
          'Returns one object of the deployment with its YAML and its events. managedFields are left out. The values of the secrets of the deployment are masked in each value of the YAML, but not in keys. In messages, credentials of a known form are masked, too. Secrets cannot be read.',
        params,
        querystring: noQuery,
        response: { 200: objectSchema, ...errorAnswers(404, 409, 504) },
      },
    },
    async (request, reply) => {
      const write = writerOf(reply);
      const { deployment_id: deploymentId, kind, name } = request.params;
      const place = await placeOf(deps, request, deploymentId);
      const text = await read(request, place, { read: 'object', kind, name }, async ({ object }, showing) => {
        if (object === undefined) throw unreadable(UNKNOWN_ANSWER);
        return write(await objectAnswer(object, showing));
      });
      return sendText(reply, text);
    },
  );
}
