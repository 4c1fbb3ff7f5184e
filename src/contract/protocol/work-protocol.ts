import { z } from 'zod';
import { tenantQuotasSchema } from '../../domain/policy/tenant-quotas.ts';
import { managedDeploymentSpecSchema } from '../resource/managed-deployment.ts';

/**
 * Messages between listener and hub (part of the HTTP API, scope `listeners:run`). The listener calls the hub. The hub
 * never connects to a cluster. Listener and hub may have different versions, so unknown fields are ignored, never
 * rejected.
 */

/**
 * The `detail` of the 404 for a path that a hub does not have, in all versions. With this text, a listener
 * distinguishes an earlier hub from a proxy that responds with 404.
 */
export const NOTHING_HERE = 'There is nothing at this path with this method.';

const { recordGeneration, deletion, failed, ...sameNames } = managedDeploymentSpecSchema.shape;
const { requestTime, restorableUntilTime } = deletion.unwrap().shape;
const { observedRecordGeneration, ...failure } = failed.unwrap().shape;

/**
 * The spec of a work item. Its names are those of the previous version, because listeners of that version write the spec
 * to the cluster as they receive it. Listeners of this version write the current names (decision 0082).
 */
const workSpecSchema = z
  .strictObject({
    ...sameNames,
    generation: recordGeneration,
    deletion: z
      .strictObject({ requestedAt: requestTime, restorableUntil: restorableUntilTime })
      .optional()
      .describe('Set while the deployment is being deleted.'),
    failed: z
      .strictObject({ ...failure, observedGeneration: observedRecordGeneration })
      .optional()
      .describe('The hub knows that the desired revision failed.'),
  })
  .describe('Desired state.');
export type WorkSpec = z.infer<typeof workSpecSchema>;

/** Apply the desired state of a deployment. */
export const applyWorkSchema = z.object({
  kind: z.literal('apply'),
  deployment_id: z.string(),
  tenant_id: z.string(),
  generation: z.int(),
  work_version: z
    .int()
    .optional()
    .describe(
      'Version of the item within its generation. The version changes with the content of the item. The listener reports this version in the report `applied`.',
    ),
  name: z.string().describe('metadata.name of the custom resource.'),
  namespace: z.string(),
  create_namespace: z
    .boolean()
    .describe('The namespace belongs to the tenant, and the listener creates it (cloud).'),
  tenant_quotas: tenantQuotasSchema
    .strip()
    .optional()
    .describe(
      "Effective quotas of the tenant. The ResourceQuota of the tenant's namespace is derived from these quotas. Absent: none.",
    ),
  labels: z.record(z.string(), z.string()).describe('Labels of the custom resource.'),
  spec: workSpecSchema,
  spec_hash: z.string().describe('Hash of the spec with the names of this message, for the inventory.'),
  claim_to_remove: z
    .string()
    .optional()
    .describe(
      'uid of the volume claim whose removal has begun (volume-removals). The listener notes this claim in the custom ' +
        'resource. Absent: no removal has begun.',
    ),
  env_secrets: z
    .array(
      z.object({
        name: z.string(),
        revision_number: z.int(),
        revision_id: z
          .string()
          .describe(
            'Id of the revision. After a restore of the database of the hub, numbers of revisions are reused, but ' +
              'ids are not.',
          ),
        data: z.record(z.string(), z.string()),
      }),
    )
    .describe(
      'Environments of the desired and the active revision. The listener writes these Secrets before the custom resource refers to them.',
    ),
  stale_env_secrets: z
    .array(z.string())
    .describe(
      'The Secrets of stale_env_revisions, by name, for listeners that do not report gone_env_revisions.',
    ),
  stale_env_revisions: z
    .array(z.int())
    .default([])
    .describe(
      'Revisions whose environments are not needed any more. The listener deletes these environments if they exist, and reports the revisions in gone_env_revisions. The hub repeats each revision until the listener has reported it.',
    ),
  build_secret: z
    .object({ name: z.string(), revision_id: z.string(), data: z.record(z.string(), z.string()) })
    .optional()
    .describe(
      'Credentials of the requested build (contract/resource/build.ts BUILD_SECRET_KEYS). The listener writes the credentials to the namespace of builds before the custom resource refers to them.',
    ),
  pull_secret: z
    .object({ name: z.string(), docker_config: z.string() })
    .optional()
    .describe(
      "Credentials with which the cluster pulls the deployment's images from the registry of the platform, as .dockerconfigjson.",
    ),
});
/** Remove all objects of a deployment. The item is repeated until it is acknowledged. */
export const purgeWorkSchema = z.object({
  kind: z.literal('purge'),
  deployment_id: z.string(),
  tenant_id: z.string(),
  generation: z.int(),
  name: z.string(),
  namespace: z.string(),
  env_secrets: z
    .array(z.string())
    .describe('All environment Secrets that may exist, because the listener is not allowed to list Secrets.'),
  domains: z
    .array(z.string())
    .optional()
    .describe('Additional hosts of the deployment, whose certificates are removed. Absent: none.'),
  keep_workloads: z
    .boolean()
    .optional()
    .describe(
      'True: delete only the custom resource. The objects that the custom resource owns stay, without an owner.',
    ),
});
export const workItemSchema = z.discriminatedUnion('kind', [applyWorkSchema, purgeWorkSchema]);
export type ApplyWork = z.infer<typeof applyWorkSchema>;
export type PurgeWork = z.infer<typeof purgeWorkSchema>;
export type WorkItem = z.infer<typeof workItemSchema>;

/** Maximum duration of a long poll for work, in seconds. */
export const MAX_WAIT_SECONDS = 25;
/** Maximum number of items of a response. */
export const MAX_WORK_ITEMS = 100;

/**
 * `GET /v2/listeners/{listener_id}/work?epoch=&wait_seconds=25&limit=100`: long poll for due items, fair between tenants. An item
 * without a report (`applied`, `refused`, `purged`) is sent again after a timeout.
 */
export const workQuerySchema = z.object({
  epoch: z.coerce.number().int().min(0),
  wait_seconds: z.coerce.number().min(0).max(MAX_WAIT_SECONDS).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_WORK_ITEMS).default(MAX_WORK_ITEMS),
  lost: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
    .describe(
      'true: the listener lost the response to an earlier call. Items that were handed out and not reported are due again at once.',
    ),
});
export const workResponseSchema = z.object({ items: z.array(workItemSchema) });
export type WorkResponse = z.infer<typeof workResponseSchema>;
