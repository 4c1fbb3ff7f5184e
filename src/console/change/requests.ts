import { read, type TenantApi } from '../api/client.ts';
import type { Deployment, UpdateDeployment } from '../api/types.ts';
import type { JsonObject } from '../form/json.ts';
import { type DeleteOptions, deletionQuery, ifMatch } from './request-parts.ts';

/** Requests that change a deployment. */

const path = (deployment: Deployment) => ({ deployment_id: deployment.id });

/** What a change would do. Nothing is stored. @throws Problem */
export const planChange = (api: TenantApi, deployment: Deployment, patch: JsonObject) =>
  read(
    api.PATCH('/v2/deployments/{deployment_id}', {
      params: { path: path(deployment), query: { dry_run: true }, header: ifMatch(deployment) },
      body: patch as UpdateDeployment,
    }),
  );

/** @throws Problem */
export const applyChange = (api: TenantApi, deployment: Deployment, patch: JsonObject) =>
  read(
    api.PATCH('/v2/deployments/{deployment_id}', {
      params: { path: path(deployment), header: ifMatch(deployment) },
      body: patch as UpdateDeployment,
    }),
  );

/** @throws Problem */
export const deleteDeployment = (api: TenantApi, deployment: Deployment, options: DeleteOptions) =>
  read(
    api.DELETE('/v2/deployments/{deployment_id}', {
      params: { path: path(deployment), query: deletionQuery(options) },
    }),
  );

/** @throws Problem */
export const restoreDeployment = (api: TenantApi, deployment: Deployment) =>
  read(api.POST('/v2/deployments/{deployment_id}/restore', { params: { path: path(deployment) }, body: {} }));

/** The deployment with the values of its secrets, for someone who asks to see them. They are not kept. @throws Problem */
export const revealSecrets = async (api: TenantApi, deployment: Deployment) => {
  const query = { mask_secrets: false };
  const { secrets } = await read(
    api.GET('/v2/deployments/{deployment_id}', { params: { path: path(deployment), query } }),
  );
  return new Map(secrets.map(({ name, value }) => [name, value]));
};
