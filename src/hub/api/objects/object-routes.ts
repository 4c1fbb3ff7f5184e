import type { FastifyInstance, FastifyRequest } from 'fastify';
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
import { LogMasks } from '../logs/log-masks.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { full, type ObjectsRead, OUTDATED_LISTENER, readObjects } from './object-reading.ts';
import {
  eventsWithoutMessages,
  manifestWithoutMessages,
  maskManifest,
  maskMessages,
  parseManifest,
  toYaml,
  withoutMessages,
} from './object-text.ts';
import { SharedReads } from './shared-reads.ts';

/** Maximum number of requests per process. Each can hold a response in memory. */
const READERS = { tenant: 20, all: 200 };
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

/** What a request reads, and how its result is masked. */
interface Place {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly listenerId: string;
  /** Whether messages are withheld, because they can quote values that the hub does not know. */
  readonly withholds: boolean;
}

/** @throws ApiError 404, 409, 503 */
async function placeOf(deps: ApiDeps, request: FastifyRequest, deploymentId: string): Promise<Place> {
  const tenantId = tenantOf(request);
  const sees = callerOf(request).scopes.includes('secrets:read');
  return deps.database.forTenant(tenantId).read(async (reader) => {
    const found = await findDeployment(reader, tenantId, deploymentId);
    if (found === null) throw notFound('deployment');
    const { listenerId, listener } = found;
    const { alive, leased, returning = false } = listener;
    // A listener that was disconnected may read objects before its first inventory.
    if (!alive && !(leased && returning)) throw unreadable(UNREACHABLE);
    const abilities = await listenerAbilities(reader, listenerId);
    if (abilities !== null && !abilities.includes('objects')) throw new ApiError(409, OUTDATED_LISTENER);
    const withholds = !sees && (await mayPrintReferences(reader, tenantId, deploymentId));
    return { tenantId, deploymentId, listenerId, withholds };
  });
}

/** Reads through the listener, with the limits of this process. A shared read counts once in the rate of the tenant. */
function createReading(app: FastifyInstance, deps: ApiDeps, limiter: RateLimiter) {
  const signal = shutdownSignal(app);
  const readers = createReaders(READERS, 'objects');
  const hints = deps.logHints ?? createWorkHints();
  const shared = new SharedReads<ObjectsRead>();
  return async (request: FastifyRequest, place: Place, query: ObjectQuery): Promise<ObjectsRead> => {
    const leave = readers.enter(place.tenantId);
    try {
      const key = JSON.stringify([place.tenantId, place.deploymentId, query]);
      const reading = { ...place, deps, hints, most: OF_LISTENER, httpRequestId: request.id, signal };
      const result = await shared.get(key, async () => {
        limiter.clusterRead(place.tenantId);
        return readObjects(reading, query);
      });
      if (result.failure !== undefined) throw FAILURES[result.failure]();
      return result;
    } finally {
      leave();
    }
  };
}

/** `/v2/deployments/{id}/objects`. */
export function objectRoutes(app: FastifyInstance, deps: ApiDeps, limiter: RateLimiter): void {
  const masks = new LogMasks(deps.secretBox);
  const read = createReading(app, deps, limiter);
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const maskOf = ({ tenantId, deploymentId }: Place) =>
    deps.database.forTenant(tenantId).read((reader) => masks.of(tenantId, deploymentId)(reader));

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
    async (request) => {
      const place = await placeOf(deps, request, request.params.deployment_id);
      const { map } = await read(request, place, { read: 'map' });
      if (map === undefined) throw unreadable(UNKNOWN_ANSWER);
      const { objects, ...rest } = map;
      const shown = place.withholds ? objects.map(withoutMessages) : objects;
      return maskMessages({ resources: shown, ...rest }, await maskOf(place));
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
    async (request) => {
      const { deployment_id: deploymentId, kind, name } = request.params;
      const place = await placeOf(deps, request, deploymentId);
      const { object: found } = await read(request, place, { read: 'object', kind, name });
      if (found === undefined) throw unreadable(UNKNOWN_ANSWER);
      const { object, events, unread } = found;
      const manifest = found.manifest === null ? null : parseManifest(found.manifest);
      const shown = place.withholds
        ? {
            object: withoutMessages(object),
            events: eventsWithoutMessages(events),
            manifest: manifest && manifestWithoutMessages(manifest),
          }
        : { object, events, manifest };
      const mask = await maskOf(place);
      return {
        ...maskMessages({ object: shown.object, events: shown.events, unread }, mask),
        yaml: shown.manifest && toYaml(maskManifest(shown.manifest, mask)),
      };
    },
  );
}
