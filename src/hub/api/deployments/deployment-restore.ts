import type { Actor } from '../../store/core/events.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import {
  findDeploymentForUpdate,
  isRestorable,
  restoreDeployment,
} from '../../store/deployments/deployments.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { checkIfMatch } from '../core/etag.ts';
import { checkQuota } from './deployment-quota.ts';
import { conflict } from './deployment-rules.ts';
import { readableSecrets } from './deployment-secrets.ts';

/** `POST /v2/deployments/{id}/restore`. */

export interface RestoreRequest {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly actor: Actor;
  readonly ifMatch: string | undefined;
}

const graceOver = () =>
  new ApiError(
    409,
    'The grace period of the deletion has ended, and the data of the deployment is being removed or ' +
      'is gone.',
  );

/**
 * Restores a deployment within the grace period of its deletion.
 * @throws ApiError 400 for a quota, 404, 409 with the reason, 412
 */
export async function restore(deps: ApiDeps, request: RestoreRequest): Promise<DeploymentRecord> {
  const { tenantId, deploymentId, actor } = request;
  try {
    return await deps.database.forTenant(tenantId).transaction(async (transaction) => {
      const before = await findDeploymentForUpdate(transaction, tenantId, deploymentId);
      if (before === null) throw notFound('deployment');
      checkIfMatch(request.ifMatch, before.generation);
      if (before.deleteRequestedAt === null) {
        throw new ApiError(409, 'The deployment is not being deleted, so it cannot be restored.');
      }
      if (!(await isRestorable(transaction, tenantId, deploymentId))) throw graceOver();
      const secretNames = (readableSecrets(deps.secretBox, before) ?? []).map(({ name }) => name);
      const { sourceConfig, sourceRevisionConfig } = before;
      const asked = { deploymentId, sourceConfig, sourceRevisionConfig, secretNames };
      await checkQuota(deps, transaction, tenantId, asked);
      const restored = await restoreDeployment(transaction, tenantId, deploymentId, actor);
      if (restored === null) throw graceOver();
      return restored;
    });
  } catch (error) {
    throw conflict(error);
  }
}
