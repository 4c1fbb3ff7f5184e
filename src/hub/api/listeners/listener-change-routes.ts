import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { PLATFORM_LISTENER_ID } from '../../../domain/deployment/source.ts';
import type { Transaction } from '../../store/core/database.ts';
import { ReferenceViolation, UniqueViolation } from '../../store/core/errors.ts';
import {
  deleteListener,
  findListener,
  NamespacesInUse,
  updateListener,
} from '../../store/listeners/listeners.ts';
import { actorOf, callerOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { noQuery } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { listenerSchema, patchListenerSchema, presentListener } from './listener-schema.ts';

/** Changes and deletes listeners of a tenant. */

const WRITE = { scopes: ['deployments:write'] } as const;
const params = z.strictObject({ listener_id: uuidSchema.describe('Id of the listener.') });

const MAX_NAMED = 20;

function namespacesInUse({ namespaces }: NamespacesInUse): ApiError {
  const named = namespaces
    .slice(0, MAX_NAMED)
    .map(({ namespace, deployments }) => `${namespace} (${deployments})`);
  const more = namespaces.length > MAX_NAMED ? ` and ${namespaces.length - MAX_NAMED} more` : '';
  return new ApiError(
    409,
    `compute_config.k8s_namespaces lacks namespaces that contain deployments: ${named.join(', ')}${more}. ` +
      `Deployments that are being deleted count until the cluster has none of their objects.`,
  );
}

function conflict(error: unknown): unknown {
  if (error instanceof NamespacesInUse) return namespacesInUse(error);
  if (error instanceof UniqueViolation) return new ApiError(409, 'Another listener has this compute_id.');
  if (!(error instanceof ReferenceViolation)) return error;
  return new ApiError(
    409,
    'Deployments use the listener. Deployments that are being deleted count until the cluster has none of their ' +
      'objects.',
  );
}

/** @throws ApiError 404; 403 for listeners of the platform, which tenants see but cannot change */
async function checkOwn(transaction: Transaction, tenantId: string, id: string): Promise<void> {
  const listener = await findListener(transaction, tenantId, id);
  if (listener === null) throw notFound('listener');
  if (listener.tenantId === null) {
    throw new ApiError(
      403,
      'The listener belongs to the platform. Tenants can use the listener, but cannot change it.',
    );
  }
}

/** `PATCH` and `DELETE /v2/listeners/{id}`. */
export function listenerChangeRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.patch(
    '/v2/listeners/:listener_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['listeners'],
        summary: 'Update a listener',
        description:
          'Changes the compute_id or the namespaces of a listener of the tenant. A namespace with deployments cannot be removed. BERTH_NAMESPACES of a listener replaces the list with each renewal of its lease. Listeners of the platform cannot be changed: 403. An admin can only clear the cluster of such a listener, with cluster_id as the only field.',
        params,
        querystring: noQuery,
        body: patchListenerSchema,
        response: { 200: listenerSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { listener_id: id } = request.params;
      const { compute_id: computeId, compute_config: computeConfig, cluster_id: clusterId } = request.body;
      // In cloud mode, deployments are in the tenant's namespace, whatever the list contains.
      const options = { actor: actorOf(request), keepNamespaces: deps.hosting !== 'cloud' };
      const forgets = clusterId === null && Object.keys(request.body).length === 1;
      if (id === PLATFORM_LISTENER_ID && forgets && callerOf(request).scopes.includes('admin')) {
        const forgotten = await deps.database.platform.transaction((transaction) =>
          updateListener(transaction, null, id, { clusterId }, options),
        );
        if (forgotten !== null) return presentListener(forgotten);
      }
      const changed = await deps.database
        .forTenant(tenantId)
        .transaction(async (transaction) => {
          await checkOwn(transaction, tenantId, id);
          const change = { computeId, computeConfig, clusterId };
          return updateListener(transaction, tenantId, id, change, options);
        })
        .catch((error: unknown) => {
          throw conflict(error);
        });
      if (changed === null) throw notFound('listener');
      return presentListener(changed);
    },
  );

  routes.delete(
    '/v2/listeners/:listener_id',
    {
      config: { access: WRITE },
      schema: {
        tags: ['listeners'],
        summary: 'Delete a listener',
        description:
          'Deletes a listener of the tenant. If the listener still runs, its calls are rejected from then on. The request is rejected while deployments use the listener, including deployments that are being deleted. Listeners of the platform cannot be deleted: 403.',
        params,
        querystring: noQuery,
        response: { 204: z.null().describe('Deleted.'), ...errorAnswers(404, 409) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { listener_id: id } = request.params;
      const deleted = await deps.database
        .forTenant(tenantId)
        .transaction(async (transaction) => {
          await checkOwn(transaction, tenantId, id);
          return deleteListener(transaction, tenantId, id, actorOf(request));
        })
        .catch((error: unknown) => {
          throw conflict(error);
        });
      if (!deleted) throw notFound('listener');
      return reply.code(204).send(null);
    },
  );
}
