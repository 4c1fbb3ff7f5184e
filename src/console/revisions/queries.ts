import { queryOptions } from '@tanstack/react-query';
import { read, type TenantApi } from '../api/client.ts';
import { deploymentKey } from '../api/keys.ts';
import type { RevisionDryRun } from '../api/types.ts';

/** What the pages of revisions request. */

export interface RevisionPath {
  readonly deployment_id: string;
  readonly revision_id: string;
}

/** One revision, with the names of its secrets. */
export const revisionQuery = (api: TenantApi, deploymentId: string, revisionId: string) =>
  queryOptions({
    queryKey: deploymentKey(api.tenantId, deploymentId, 'revision', revisionId),
    queryFn: ({ signal }) => {
      const path: RevisionPath = { deployment_id: deploymentId, revision_id: revisionId };
      return read(
        api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}', { params: { path }, signal }),
      );
    },
  });

/** How a revision is repeated. */
export type RepeatKind = 'rollback' | 'redeploy';

/** What is repeated. */
export interface Repeated extends RevisionPath {
  readonly kind: RepeatKind;
  /** Whether a rollback runs the release command. A redeploy always does. */
  readonly runsRelease: boolean;
}

interface RepeatInput {
  readonly isDryRun: boolean;
  readonly headers?: { readonly 'If-Match'?: string; readonly 'Idempotency-Key'?: string };
  readonly signal?: AbortSignal;
}

/** Sends the request to roll back to a revision or to deploy it again. Also returns the ETag of the deployment. */
async function repeat(api: TenantApi, repeated: Repeated, input: RepeatInput) {
  const { kind, runsRelease, ...path } = repeated;
  const { isDryRun, headers = {}, signal } = input;
  const call = api.POST(`/v2/deployments/{deployment_id}/revisions/{revision_id}/${kind}`, {
    params: { path, query: { dry_run: isDryRun }, header: headers },
    body: kind === 'rollback' && runsRelease ? { run_release: true } : {},
    ...(signal === undefined ? {} : { signal }),
  });
  const answer = await read(call);
  return { answer, etag: (await call).response.headers.get('etag') };
}

export interface RepeatPreview {
  readonly plan: RevisionDryRun;
  readonly etag: string | null;
}

/** What a rollback or redeploy would change now. It is requested again when the deployment changes. */
export const previewQuery = (api: TenantApi, repeated: Repeated) =>
  queryOptions<RepeatPreview>({
    queryKey: deploymentKey(api.tenantId, repeated.deployment_id, 'preview', repeated),
    queryFn: async ({ signal }) => {
      const { answer, etag } = await repeat(api, repeated, { isDryRun: true, signal });
      return { plan: answer as RevisionDryRun, etag };
    },
    // An old preview must not be shown as the present one.
    gcTime: 0,
    staleTime: 0,
  });

/**
 * Creates the revision. @param etag of the preview @param key so that a repeated request creates one revision only
 * @returns the generation of the deployment with the new revision
 */
export async function repeatRevision(
  api: TenantApi,
  repeated: Repeated,
  { etag, key }: { readonly etag: string | null; readonly key: string },
): Promise<number> {
  const headers = { 'Idempotency-Key': key, ...(etag === null ? {} : { 'If-Match': etag }) };
  const { etag: next } = await repeat(api, repeated, { isDryRun: false, headers });
  return generationOf(next);
}

/** The generation of an ETag, also if a proxy has marked it as weak. 0: unknown. */
const generationOf = (etag: string | null): number => Number(etag?.match(/\d+/)?.[0] ?? 0);
