import type { FastifyContextConfig, FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  volumeRemovalRequestSchema,
  volumeRemovalResponseSchema,
} from '../../../contract/protocol/removal-protocol.ts';
import type { Scope } from '../../store/core/database.ts';
import { beginVolumeRemoval, endVolumeRemoval } from '../../store/deployments/volume-removal.ts';
import { checkEpoch } from '../../store/listeners/listener-lease.ts';
import type { ApiDeps } from '../core/deps.ts';
import { errorAnswers } from '../openapi/error-schema.ts';

interface RemovalRoute {
  readonly app: FastifyInstance;
  readonly deps: Pick<ApiDeps, 'hints' | 'logger'>;
  readonly config: FastifyContextConfig;
  readonly scopeOf: (request: FastifyRequest, listenerId: string) => Promise<Scope>;
}

/** The listener call before and after the removal of a volume (contract/protocol/removal-protocol.ts). */
export function addRemovalRoute({ app, deps, config, scopeOf }: RemovalRoute): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/v2/listeners/:listener_id/volume-removals',
    {
      config,
      schema: {
        tags: ['listener protocol'],
        summary: 'Ask to delete the volume of a database, or report that it is gone.',
        params: z.object({ listener_id: z.uuid() }),
        body: volumeRemovalRequestSchema,
        response: { 200: volumeRemovalResponseSchema, ...errorAnswers(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const { listener_id: listenerId } = request.params;
      const { epoch, deployment_id: deploymentId, generation, claim_uid: claimUid, claim } = request.body;
      const scope = await scopeOf(request, listenerId);
      const confirmed = { listenerId, deploymentId, generation, claimUid };
      const isDone = await scope.transaction(async (transaction) => {
        await checkEpoch(transaction, listenerId, epoch);
        return claim === 'gone'
          ? endVolumeRemoval(transaction, confirmed)
          : beginVolumeRemoval(transaction, confirmed);
      });
      deps.logger.info({ ...confirmed, claim, isDone }, 'processed the removal of a volume');
      if (claim === 'gone' && isDone) deps.hints.notify([listenerId]);
      return { permitted: claim === 'unused' && isDone };
    },
  );
}
