import { z } from 'zod';
import { conditionSchema } from '../domain/conditions.ts';
import { culpritSchema } from '../domain/culprit.ts';
import { dnsLabelSchema } from '../domain/kubernetes/names.ts';
import { tenantQuotasSchema } from '../domain/tenant-quotas.ts';
import { buildStatusSchema } from './build.ts';
import { managedDeploymentSpecSchema } from './managed-deployment.ts';
import { MAX_ROUTE_HOSTS } from './managed-deployment-status.ts';
import { renderConfigSchema } from './render-config.ts';

/**
 * Messages between listener and hub (part of the HTTP API, scope `listeners:run`).
 * The listener calls, the hub answers; the hub never connects to a cluster. Either may be of a later version than the
 * other: fields that it does not know are passed over, never refused.
 */

/** `PUT /v2/listeners/{id}/lease`. */
export const leaseRequestSchema = z.object({
  holder: z.string().min(1).max(253).describe('Identity of the process that asks.'),
  version: z.string().max(64).describe("Berth's version."),
  cluster_version: z.string().max(64).describe('Version of the cluster, as its API server says.'),
  rendering: renderConfigSchema.nullable().describe("The operator's rendering configuration."),
  namespaces: z
    .array(dnsLabelSchema)
    .max(1000)
    .optional()
    .describe('Namespaces that the listener may use; absent: as registered.'),
  epoch: z
    .int()
    .nullable()
    .describe('The epoch to renew; null: begin a new one (always the first call of a process).'),
  release: z.boolean().optional().describe('True: give the lease up, so that a successor need not wait.'),
  cluster_reachable: z
    .boolean()
    .optional()
    .describe('False: hub reached, but the cluster does not answer: statuses are UNKNOWN.'),
  unreadable_namespaces: z
    .array(z.object({ namespace: dnsLabelSchema, message: z.string().max(1024) }))
    .max(1000)
    .optional()
    .describe('Those of them that it cannot read at present, each with why; the others are served.'),
  cluster_id: z
    .string()
    .max(128)
    .optional()
    .describe(
      'Which cluster it is: NAMESPACE/UID of kube-system, or of the first namespace that the listener may use where it may not read that one. The first one told is kept; with another one the lease is refused.',
    ),
});
export type LeaseRequest = z.infer<typeof leaseRequestSchema>;

/** Begins the detail of a 409 that only a change of settings, or of the listener at the hub, can end. */
export const ANOTHER_CLUSTER = 'The listener belongs to another cluster';

/** 409 instead: another process holds the lease, `epoch` is no longer the current one, or ANOTHER_CLUSTER. */
export const leaseResponseSchema = z.object({
  epoch: z.int().describe('Counts holders; every later call carries it. A call with an older one gets 409.'),
  ttl_seconds: z
    .number()
    .describe('The lease is the holder’s for this long after a renewal; then another process may take it.'),
});
export type LeaseResponse = z.infer<typeof leaseResponseSchema>;

/** `GET /v2/listeners/{id}/lease`: who holds it, without taking it; for `berth listener doctor`. */
export const leaseStateSchema = z.object({
  hub_version: z.string().describe("The hub's version of Berth."),
  epoch: z.int().describe('Counts holders; 0: there was none yet.'),
  holder: z
    .string()
    .nullable()
    .describe('The process that holds the lease or was the last to; null: it was given up, or never taken.'),
  held: z
    .boolean()
    .describe('True: the holder was heard of within its time, nobody else can take the lease.'),
  namespaces: z.array(z.string()).describe('Namespaces that deployments may use. Empty: any.'),
  used_namespaces: z
    .array(z.object({ namespace: z.string(), deployments: z.int() }))
    .describe('Where deployments of the listener are, but for the namespaces of tenants; at most 1000.'),
  rendering: renderConfigSchema
    .nullable()
    .describe("The operator's rendering configuration as last reported; null: none yet."),
  cluster_id: z
    .string()
    .nullable()
    .describe('The cluster that the listener is for, as its first lease told; null: the next one to tell.'),
});
export type LeaseState = z.infer<typeof leaseStateSchema>;

/** Bring one deployment to what is wanted. */
export const applyWorkSchema = z.object({
  kind: z.literal('apply'),
  deployment_id: z.string(),
  tenant_id: z.string(),
  generation: z.int(),
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
    .describe('An answer was lost: what was handed out and not reported on is due again at once.'),
});
export const workResponseSchema = z.object({ items: z.array(workItemSchema) });
export type WorkResponse = z.infer<typeof workResponseSchema>;

const failure = {
  reason: z.string().max(64),
  message: z.string().max(4096),
  culprit: culpritSchema.optional(),
};

/** Most revisions that one report tells to have lost their environment. */
const MAX_GONE = 1000;

const revisionRef = z.object({ id: z.string().max(64), number: z.int() });

/** One thing that the listener has done or seen. */
export const reportSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('applied').describe('The custom resource of this generation is in the cluster.'),
    deployment_id: z.uuid(),
    generation: z.int(),
    gone_env_revisions: z
      .array(z.int())
      .max(MAX_GONE)
      .optional()
      .describe('Of stale_env_revisions: those whose environments are not there any more.'),
  }),
  z.object({
    kind: z.literal('refused').describe('The work item could not be done; it comes again after a back-off.'),
    deployment_id: z.uuid(),
    generation: z.int(),
    reason: z.string().max(64),
    message: z.string().max(4096),
    retryable: z
      .boolean()
      .describe('False: only a change of the deployment can help; its revision has failed.'),
  }),
  z.object({
    kind: z.literal('observed').describe("The custom resource's status."),
    deployment_id: z.uuid(),
    name: z.string().max(253).describe('Where it was seen: another place than the record says is ignored.'),
    namespace: z.string().max(63),
    observed_spec_generation: z.int(),
    conditions: z.array(conditionSchema).max(16),
    off: z.boolean(),
    url: z.string().max(2048).nullable(),
    routes: z
      .object({ generation: z.int(), hosts: z.array(z.string().max(253)).max(MAX_ROUTE_HOSTS) })
      .optional()
      .describe(
        'Hosts of all route objects that are in the cluster, whatever becomes of them, and the spec.generation that the operator went by when it saw them. Absent: an earlier operator does not tell.',
      ),
    active_revision: revisionRef.nullable(),
    rollout_revision: revisionRef.nullable(),
    build: buildStatusSchema
      .nullable()
      .optional()
      .describe('The build that the spec asks for; absent or null: none is.'),
    images: z
      .array(revisionRef.extend({ image: z.string().max(1024) }))
      .max(4)
      .optional()
      .describe('Digest-pinned images that revisions were resolved to.'),
    failed_revision: revisionRef.extend(failure).nullable(),
    in_place_failure: z
      .object(failure)
      .nullable()
      .optional()
      .describe(
        'A change of the active revision in place (source_config) that did not come up and was turned back; absent or null: the last one did not fail.',
      ),
    volume_gi: z
      .int()
      .min(0)
      .nullable()
      .optional()
      .describe(
        "What the database's volume claim asks for, in Gi and rounded up, while that is less than db_storage_gi: so far it may be lowered again. Absent or null: it is not less.",
      ),
  }),
  z.object({
    kind: z.literal('purged').describe('Nothing of the deployment is left in the cluster.'),
    deployment_id: z.uuid(),
  }),
]);
export type Report = z.infer<typeof reportSchema>;
export type ObservedReport = Extract<Report, { kind: 'observed' }>;

/** Most reports of one call. */
export const MAX_REPORTS = 500;

/**
 * `POST /v2/listeners/{id}/reports`: compare-and-set on (epoch, seq); seq counts up within the epoch. A seq that is not
 * above the highest one taken is answered and not taken again; a gap is fine: reports say states, not steps, and a
 * listener whose call failed sends what it then knows under the next seq. Several of one deployment are taken in their
 * order.
 */
/**
 * Of reports, what a hub of the version before does not know, and refuses (decision 0032: later ones pass it over). To be
 * emptied with the next version.
 */
const LATER_FIELDS: ReadonlySet<string> = new Set(['routes']);

/** A report as the version before has it. */
export function asBefore(report: Report): Report {
  return Object.fromEntries(Object.entries(report).filter(([name]) => !LATER_FIELDS.has(name))) as Report;
}

export const reportsRequestSchema = z.object({
  epoch: z.int(),
  seq: z.int().min(1),
  reports: z.array(reportSchema).max(MAX_REPORTS),
});
export type ReportsRequest = z.infer<typeof reportsRequestSchema>;
export const reportsResponseSchema = z.object({
  accepted_seq: z
    .int()
    .describe('The highest seq taken; a repeated one is answered without being taken twice.'),
  inventory_wanted: z
    .boolean()
    .optional()
    .describe('True: a report told of a generation that the hub does not know; a complete inventory is due.'),
});
export type ReportsResponse = z.infer<typeof reportsResponseSchema>;

/** Most items of one inventory: twice the number of deployments that one cluster is meant for, and more. */
export const MAX_INVENTORY = 20_000;

/** `POST /v2/listeners/{id}/inventory`: what is in the cluster; the hub marks mismatches as due. */
export const inventoryRequestSchema = z.object({
  epoch: z.int(),
  complete: z
    .boolean()
    .describe('True: these are all; a deployment that is not among them is missing in the cluster.'),
  namespaces: z
    .array(dnsLabelSchema)
    .max(1000)
    .optional()
    .describe('All of these namespaces; of others nothing is said. Absent: all of the cluster.'),
  items: z
    .array(
      z.object({
        deployment_id: z.string().max(64),
        name: z.string().max(253),
        namespace: z.string().max(63),
        uid: z.string().max(64).nullable().describe('null: it was deleted.'),
        generation: z.int().describe("spec.generation (the hub's)."),
        spec_hash: z.string().max(64).describe('Hash of spec as it stands.'),
        applied_hash: z
          .string()
          .max(64)
          .nullable()
          .describe('What a listener noted when it applied it; another one than spec_hash: edited by hand.'),
      }),
    )
    .max(MAX_INVENTORY),
});
export type InventoryRequest = z.infer<typeof inventoryRequestSchema>;
export type InventoryItem = InventoryRequest['items'][number];
export const inventoryResponseSchema = z.object({
  due: z.int().describe('Deployments that became work by this inventory.'),
  unknown: z.array(z.string()).describe('Ids that the hub does not know: reported, not touched.'),
});
export type InventoryResponse = z.infer<typeof inventoryResponseSchema>;
