import { queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { tenantKey } from '../api/keys.ts';
import type { Deployment, DeploymentPlan } from '../api/types.ts';
import type { JsonObject } from '../form/json.ts';

/** Requests that create a deployment. */

/** What a creation would do. Nothing is stored. @throws Problem */
export const planCreation = async (api: TenantApi, body: JsonObject): Promise<DeploymentPlan> =>
  await read<DeploymentPlan>(
    api.POST('/v2/deployments', {
      params: { query: { dry_run: true } },
      body: body as never,
    }),
  );

/**
 * Creates a deployment.
 * @param key the same key creates at most one deployment, even if the response was lost
 * @throws Problem
 */
export const createDeployment = (api: TenantApi, body: JsonObject, key: string): Promise<Deployment> =>
  read<Deployment>(
    api.POST('/v2/deployments', {
      params: { header: { 'Idempotency-Key': key } },
      body: body as never,
    }),
  );

const MAX_ROWS = 100;

/** Credentials for git hosts. */
export const integrationsQuery = (api: TenantApi) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'integrations'),
    queryFn: async ({ signal }) => {
      const query = { limit: MAX_ROWS };
      const { resources } = await read(api.GET('/v2/integrations', { params: { query }, signal }));
      return resources;
    },
  });

/** The first repositories that an integration can read. */
export const repositoriesQuery = (api: TenantApi, integrationId: string) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'repositories', integrationId),
    queryFn: async ({ signal }) => {
      const path = { integration_id: integrationId };
      const query = { limit: MAX_ROWS };
      const { resources } = await read(
        api.GET('/v2/integrations/{integration_id}/repos', { params: { path, query }, signal }),
      );
      return resources;
    },
    staleTime: 5 * 60_000,
  });
