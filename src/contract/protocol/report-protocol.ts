import { z } from 'zod';
import { conditionSchema } from '../../domain/conditions/conditions.ts';
import { culpritSchema } from '../../domain/conditions/failure-source.ts';
import { dnsLabelSchema } from '../../domain/kubernetes/names.ts';
import { buildStatusSchema } from '../resource/build.ts';
import { MAX_ROUTE_HOSTS, MAX_SYMPTOMS } from '../resource/managed-deployment-status.ts';

/** What the listener tells the hub: reports and inventories (part of the listener protocol, see work-protocol.ts). */

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
    work_version: z
      .int()
      .optional()
      .describe('Of the item that was applied: it does not acknowledge one of another version.'),
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
    waiting: z
      .boolean()
      .optional()
      .describe(
        'True: the listener keeps the item and tries again by itself; this only says what the item waits for, such as an object that blocks a purge. Absent: false.',
      ),
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
    symptoms: z
      .array(
        z.object({
          component: z.string().max(32),
          ...failure,
          since: z.string().max(40),
          quiet: z.boolean().optional(),
        }),
      )
      .max(MAX_SYMPTOMS)
      .optional()
      .describe(
        'What is wrong with running pods outside of a rollout. quiet: it is not seen now, and has not passed for certain. Absent: nothing is wrong.',
      ),
    volume_gi: z
      .int()
      .min(0)
      .nullable()
      .optional()
      .describe(
        "Capacity of the database's volume in Gi, rounded up: db_storage_gi may be lowered to it. 0: there is no volume yet. Earlier listeners send it only while it differs from db_storage_gi. Absent or null: it does not differ, or is not known.",
      ),
  }),
  z.object({
    kind: z.literal('purged').describe('No object of the deployment remains in the cluster.'),
    deployment_id: z.uuid(),
  }),
]);
export type Report = z.infer<typeof reportSchema>;
export type ObservedReport = Extract<Report, { kind: 'observed' }>;

/** Most reports of one call. */
export const MAX_REPORTS = 500;

/**
 * Of reports, what a hub of the version before does not know, and refuses (decision 0032: later ones pass it over). To be
 * emptied with the next version.
 */
const LATER_FIELDS: ReadonlySet<string> = new Set(['routes', 'work_version', 'symptoms', 'waiting']);

/** A report as the version before has it. */
export function asBefore(report: Report): Report {
  return Object.fromEntries(Object.entries(report).filter(([name]) => !LATER_FIELDS.has(name))) as Report;
}

/**
 * `POST /v2/listeners/{id}/reports`: compare-and-set on (epoch, seq); seq counts up within the epoch. A seq that is not
 * above the highest one taken is answered and not taken again; a gap is fine: reports say states, not steps, and a
 * listener whose call failed sends what it then knows under the next seq. Several of one deployment are taken in their
 * order.
 */
export const reportsRequestSchema = z.object({
  epoch: z.int(),
  seq: z.int().min(1),
  reports: z.array(reportSchema).max(MAX_REPORTS),
});
export type ReportsRequest = z.infer<typeof reportsRequestSchema>;
export const reportsResponseSchema = z.object({
  accepted_seq: z.int().describe('The highest accepted seq. A repeated seq is acknowledged without effect.'),
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
        uid: z.string().max(64).nullable().describe('null: the resource was deleted.'),
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
  due: z.int().describe('Deployments that this inventory marked as work.'),
  unknown: z.array(z.string()).describe('Ids that the hub does not know. They are reported and not changed.'),
});
export type InventoryResponse = z.infer<typeof inventoryResponseSchema>;
