import { queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { deploymentKey } from '../api/keys.ts';
import type { ReadKind } from './selection.ts';

/** The objects of a deployment in its cluster. */

/** Pods change without a change of the deployment, so the stream of changes does not report all of it. */
export const POLL_MS = 10_000;

export const objectsQuery = (api: TenantApi, deploymentId: string) =>
  queryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'objects'),
    queryFn: ({ signal }) => {
      const path = { deployment_id: deploymentId };
      return read(api.GET('/v2/deployments/{deployment_id}/objects', { params: { path }, signal }));
    },
    refetchInterval: POLL_MS,
  });

/** One object with its YAML and events. */
export const objectQuery = (
  api: TenantApi,
  deploymentId: string,
  { kind, name }: { readonly kind: ReadKind; readonly name: string },
) =>
  queryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'objects', kind, name),
    queryFn: ({ signal }) => {
      const path = { deployment_id: deploymentId, kind, name };
      return read(
        api.GET('/v2/deployments/{deployment_id}/objects/{kind}/{name}', { params: { path }, signal }),
      );
    },
    refetchInterval: POLL_MS,
  });
