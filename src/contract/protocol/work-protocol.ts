import { z } from 'zod';
import { tenantQuotasSchema } from '../../domain/policy/tenant-quotas.ts';
import { managedDeploymentSpecSchema } from '../resource/managed-deployment.ts';

/**
 * Messages between listener and hub (part of the HTTP API, scope `listeners:run`).
 * The listener calls, the hub answers; the hub never connects to a cluster. Either may be of a later version than the
 * other: fields that it does not know are passed over, never refused.
 */

/**
 * The `detail` of the 404 of a path that a hub does not have, in all versions: by it a listener tells a hub of before from
 * the 404 of something on the way.
 */
export const NOTHING_HERE = 'There is nothing at this path with this method.';

/** Bring one deployment to what is wanted. */
export const applyWorkSchema = z.object({
  kind: z.literal('apply'),
  deployment_id: z.string(),
  tenant_id: z.string(),
  generation: z.int(),
  work_version: z
    .int()
    .optional()
    .describe(
      'Another one of the same generation: what goes with the item has changed. To be told with applied.',
    ),
  name: z.string().describe('metadata.name of the custom resource.'),
  namespace: z.string(),
  create_namespace: z
    .boolean()
    .describe('The namespace belongs to the tenant and is made by the listener (cloud).'),
  tenant_quotas: tenantQuotasSchema
    .strip()
    .optional()
    .describe(
      'In force for the tenant; the quota of its own namespace follows. Absent: it has none of its own.',
    ),
  labels: z.record(z.string(), z.string()).describe('Labels of the custom resource.'),
  spec: managedDeploymentSpecSchema,
  spec_hash: z.string().describe('Hash of spec as it will stand in the cluster, for the inventory.'),
  env_secrets: z
    .array(
      z.object({
        name: z.string(),
        revision_number: z.int(),
        revision_id: z
          .string()
          .describe('Whose it is: numbers come back when the database of the hub is restored, ids do not.'),
        data: z.record(z.string(), z.string()),
      }),
    )
    .describe(
      'Environment of the wanted and the active revision; written before the custom resource names them.',
    ),
  stale_env_secrets: z
    .array(z.string())
    .describe('As stale_env_revisions, by name: for listeners that do not tell what has gone.'),
  stale_env_revisions: z
    .array(z.int())
    .default([])
    .describe(
      'Revisions whose environments nobody needs any more: to be removed, if still there, and told as gone_env_revisions. They come again until then.',
    ),
  build_secret: z
    .object({ name: z.string(), revision_id: z.string(), data: z.record(z.string(), z.string()) })
    .optional()
    .describe(
      'Credentials of the build that the spec asks for (contract/build.ts BUILD_SECRET_KEYS): written to the namespace of builds before the custom resource names it.',
    ),
  pull_secret: z
    .object({ name: z.string(), docker_config: z.string() })
    .optional()
    .describe(
      "Credentials with which the cluster pulls the deployment's images from the registry of the platform, as .dockerconfigjson.",
    ),
});
/** Remove everything of one deployment; repeated until acknowledged. */
export const purgeWorkSchema = z.object({
  kind: z.literal('purge'),
  deployment_id: z.string(),
  tenant_id: z.string(),
  generation: z.int(),
  name: z.string(),
  namespace: z.string(),
  env_secrets: z
    .array(z.string())
    .describe('Every environment Secret that may exist: the listener may not list Secrets.'),
  keep_workloads: z
    .boolean()
    .optional()
    .describe('True: only the custom resource goes; what was made for it stays, without an owner.'),
});
export const workItemSchema = z.discriminatedUnion('kind', [applyWorkSchema, purgeWorkSchema]);
export type ApplyWork = z.infer<typeof applyWorkSchema>;
export type PurgeWork = z.infer<typeof purgeWorkSchema>;
export type WorkItem = z.infer<typeof workItemSchema>;

/** Longest that the hub holds a request for work open, in seconds. */
export const MAX_WAIT_SECONDS = 25;
/** Most items of one answer. */
export const MAX_WORK_ITEMS = 100;

/**
 * `GET /v2/listeners/{id}/work?epoch=&wait_seconds=25&limit=100`: what is due, fair between tenants, long-polled.
 * An item that is not reported on (`applied`, `refused`, `purged`) comes again after a while.
 */
export const workQuerySchema = z.object({
  epoch: z.coerce.number().int().min(0),
  wait_seconds: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_WORK_ITEMS).default(MAX_WORK_ITEMS),
  lost: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe('A response was lost. Items that were handed out and not reported are due again at once.'),
});
export const workResponseSchema = z.object({ items: z.array(workItemSchema) });
export type WorkResponse = z.infer<typeof workResponseSchema>;
