import type { PatchBody } from '../../../domain/deployment/deployment-bodies.ts';
import type { Actor } from '../../store/core/events.ts';
import type { ApiDeps } from '../core/deps.ts';
import { type Changed, changeIn, changing } from './deployment-change.ts';
import { lockForChange } from './deployment-lock.ts';
import { conflict } from './deployment-rules.ts';
import { secretsBeforePatch } from './deployment-secrets.ts';

/** `PATCH /v2/deployments/{id}`. */

export interface PatchRequest {
  readonly tenantId: string;
  readonly deploymentId: string;
  readonly actor: Actor;
  readonly body: PatchBody;
  readonly ifMatch: string | undefined;
  readonly dryRun: boolean;
}

/** Changes a deployment, or returns the effects that the change would have. @throws ApiError 400, 404, 409, 412, 422 */
export async function patchDeployment(deps: ApiDeps, request: PatchRequest): Promise<Changed> {
  const { body, actor, dryRun } = request;
  try {
    return await changing(deps, request, async (transaction) => {
      const before = await lockForChange(transaction, request);
      const secrets = secretsBeforePatch(deps.secretBox, before, body);
      return changeIn(deps, transaction, { before, secrets, body, actor, dryRun });
    });
  } catch (error) {
    throw conflict(error);
  }
}
