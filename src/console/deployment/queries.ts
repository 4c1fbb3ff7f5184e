import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { deploymentKey } from '../api/keys.ts';

/** What the pages of one deployment request. */

const params = (deploymentId: string) => ({ path: { deployment_id: deploymentId } });

export const deploymentQuery = (api: TenantApi, deploymentId: string) =>
  queryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId),
    queryFn: ({ signal }) =>
      read(api.GET('/v2/deployments/{deployment_id}', { params: params(deploymentId), signal })),
  });

/** Why a revision is in its state, and what to do. */
export const explanationQuery = (api: TenantApi, deploymentId: string, revisionId: string) =>
  queryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'explanation', revisionId),
    queryFn: ({ signal }) => {
      const path = { deployment_id: deploymentId, revision_id: revisionId };
      return read(
        api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/explain', {
          params: { path },
          signal,
        }),
      );
    },
  });

const REVISIONS = 50;

/** Revisions, newest first. */
export const revisionsQuery = (api: TenantApi, deploymentId: string) =>
  infiniteQueryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'revisions'),
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: REVISIONS, offset: pageParam };
      const { resources, offset } = await read(
        api.GET('/v2/deployments/{deployment_id}/revisions', {
          params: { ...params(deploymentId), query },
          signal,
        }),
      );
      return { revisions: resources, next: resources.length < REVISIONS ? undefined : offset };
    },
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next,
  });

const EVENTS = 50;

/** Events, newest first. */
export const eventsQuery = (api: TenantApi, deploymentId: string) =>
  infiniteQueryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'events'),
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: EVENTS, ...(pageParam === '' ? {} : { cursor: pageParam }) };
      const { resources, cursor } = await read(
        api.GET('/v2/deployments/{deployment_id}/events', {
          params: { ...params(deploymentId), query },
          signal,
        }),
      );
      return { events: resources, next: resources.length < EVENTS ? null : cursor };
    },
    initialPageParam: '',
    getNextPageParam: ({ next }) => next ?? undefined,
  });
