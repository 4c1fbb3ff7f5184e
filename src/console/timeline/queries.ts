import { queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { deploymentKey } from '../api/keys.ts';
import type { KnownEvents } from './steps.ts';

/** What the timeline requests. */

/** Maximum of the API. */
const MAX_EVENTS = 100;

/** Number of revisions that the timeline shows. */
const REVISIONS = 5;

/** The newest revisions. */
export const newestRevisionsQuery = (api: TenantApi, deploymentId: string) =>
  queryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'newest-revisions'),
    queryFn: async ({ signal }) => {
      const params = { path: { deployment_id: deploymentId }, query: { limit: REVISIONS } };
      const { resources } = await read(
        api.GET('/v2/deployments/{deployment_id}/revisions', { params, signal }),
      );
      return resources;
    },
  });

/** The newest events. */
export const newestEventsQuery = (api: TenantApi, deploymentId: string) =>
  queryOptions<KnownEvents>({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'newest-events'),
    queryFn: async ({ signal }) => {
      const params = { path: { deployment_id: deploymentId }, query: { limit: MAX_EVENTS } };
      const { resources } = await read(api.GET('/v2/deployments/{deployment_id}/events', { params, signal }));
      return {
        events: resources,
        since: resources.length < MAX_EVENTS ? null : (resources.at(-1)?.at ?? null),
      };
    },
  });
