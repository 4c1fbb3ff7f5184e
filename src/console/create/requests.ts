import { queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { tenantKey } from '../api/keys.ts';
import { listIntegrations } from '../api/lists.ts';
import { allOf } from '../api/pages.ts';
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

/** Credentials for git hosts. */
export const integrationsQuery = (api: TenantApi) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'integrations'),
    queryFn: ({ signal }) => allOf(listIntegrations(api), signal),
  });

/** The most repositories in the list, because the git host lists them slowly. */
export const MAX_REPOSITORIES = 100;

/** The first repositories that an integration can read. */
export const repositoriesQuery = (api: TenantApi, integrationId: string) =>
  queryOptions({
    queryKey: tenantKey(api.tenantId, 'repositories', integrationId),
    queryFn: async ({ signal }) => {
      const path = { integration_id: integrationId };
      const query = { limit: MAX_REPOSITORIES };
      const { resources } = await read(
        api.GET('/v2/integrations/{integration_id}/repos', { params: { path, query }, signal }),
      );
      return resources;
    },
    staleTime: 5 * 60_000,
  });
