import { z } from 'zod';
import { observedDomainSchema } from '../../domain/app-hosts/domain-status.ts';
import { MAX_DOMAINS } from '../../domain/app-hosts/domains.ts';
import { conditionSchema } from '../../domain/conditions/conditions.ts';
import { failureSourceSchema } from '../../domain/conditions/failure-source.ts';
import { dnsLabelSchema } from '../../domain/kubernetes/names.ts';
import { buildStatusSchema } from '../resource/build.ts';
import { MAX_ROUTE_HOSTS, MAX_SYMPTOMS } from '../resource/definition.ts';

/** Reports and inventories of listeners (part of the listener protocol, see work-protocol.ts). */

const failure = {
  reason: z.string().max(64),
  message: z.string().max(4096),
  failure_source: failureSourceSchema.optional(),
  culprit: failureSourceSchema
    .optional()
    .describe(
      'Deprecated: the name of failure_source in the previous version. Listeners send both, so that hubs of that version read it.',
    ),
};

/** Maximum number of revisions in gone_env_revisions of a report. */
const MAX_GONE = 1000;

/** State of a build. The custom resource has other names for the times. */
const { startTime, completionTime, ...buildFields } = buildStatusSchema.shape;
const reportedBuildSchema = z.object({ ...buildFields, startedAt: startTime, finishedAt: completionTime });

/** A revision in a report. */
export const revisionRefSchema = z.object({ id: z.string().max(64), number: z.int() });

/** One action or observation of the listener. */
export const reportSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('applied').describe('The custom resource of this generation is in the cluster.'),
    deployment_id: z.uuid(),
    generation: z.int(),
    work_version: z
      .int()
      .optional()
      .describe(
        'work_version of the applied item. The report does not acknowledge an item of another version.',
      ),
    gone_env_revisions: z
      .array(z.int())
      .max(MAX_GONE)
      .optional()
      .describe('The revisions of stale_env_revisions whose environment Secrets no longer exist.'),
  }),
  z.object({
    kind: z
      .literal('refused')
      .describe('The work item failed. The hub sends the item again after a backoff.'),
    deployment_id: z.uuid(),
    generation: z.int(),
    reason: z.string().max(64),
    message: z.string().max(4096),
    retryable: z
      .boolean()
      .describe('False: the revision has failed, and only a change of the deployment can help.'),
    waiting: z
      .boolean()
      .optional()
      .describe(
        'True: the listener keeps the item and retries it. The message states what the item waits for, such as an ' +
          'object that blocks a purge. Absent: false.',
      ),
  }),
  z.object({
    kind: z.literal('observed').describe("The custom resource's status."),
    deployment_id: z.uuid(),
    name: z
      .string()
      .max(253)
      .describe(
        'Name of the custom resource. The hub ignores a report with a name that differs from the stored one.',
      ),
    namespace: z.string().max(63),
    observed_spec_generation: z.int(),
    conditions: z.array(conditionSchema).max(16),
    off: z.boolean(),
    url: z.string().max(2048).nullable(),
    routes: z
      .object({ generation: z.int(), hosts: z.array(z.string().max(253)).max(MAX_ROUTE_HOSTS) })
      .optional()
      .describe(
        'Hosts of all route objects in the cluster, including those that are being deleted, and the generation of the record that the operator used for this observation. Absent: the operator is of an earlier version.',
      ),
    domains: z
      .object({ generation: z.int(), hosts: z.array(observedDomainSchema).max(MAX_DOMAINS) })
      .optional()
      .describe(
        'Observed state of each additional host, and the generation of the record that the operator used. Absent: there are no additional hosts, or the operator is of an earlier version.',
      ),
    active_revision: revisionRefSchema.nullable(),
    rollout_revision: revisionRefSchema.nullable(),
    build: reportedBuildSchema
      .nullable()
      .optional()
      .describe('The requested build. Absent or null: there is no build.'),
    images: z
      .array(revisionRefSchema.extend({ image: z.string().max(1024) }))
      .max(4)
      .optional()
      .describe('Resolved images of revisions, with digests.'),
    failed_revision: revisionRefSchema.extend(failure).nullable(),
    in_place_failure: z
      .object(failure)
      .nullable()
      .optional()
      .describe(
        'A change of source_config on the active revision that failed and was rolled back. Absent or null: the last such change did not fail.',
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
        'Symptoms of running pods outside of a rollout. quiet: the symptom is not observed now, but the recovery is not certain. Absent: none.',
      ),
    volume_gi: z
      .int()
      .min(0)
      .nullable()
      .optional()
      .describe(
        'Capacity of the volume of the database in Gi, rounded up. db_storage_gi can be lowered to this capacity. 0: there is no volume yet. Listeners of earlier versions send this field only while it differs from db_storage_gi. Absent or null: the capacity does not differ from db_storage_gi, or is not known.',
      ),
  }),
  z.object({
    kind: z.literal('purged').describe('No object of the deployment remains in the cluster.'),
    deployment_id: z.uuid(),
  }),
]);
export type Report = z.infer<typeof reportSchema>;
export type ObservedReport = Extract<Report, { kind: 'observed' }>;

/** Maximum number of reports of a call. */
export const MAX_REPORTS = 500;

/**
 * Fields of reports, at any depth, that hubs of the previous version reject as unknown (later hubs ignore them, decision
 * 0032). Empty this list with the next version.
 */
const LATER_FIELDS: ReadonlySet<string> = new Set([
  'routes',
  'work_version',
  'symptoms',
  'waiting',
  'failure_source',
  'procfile',
]);

/** A report in the format of the previous version. */
export function asBefore(report: Report): Report {
  const known = (name: string, value: unknown) => (LATER_FIELDS.has(name) ? undefined : value);
  return JSON.parse(JSON.stringify(report, known)) as Report;
}

/**
 * `POST /v2/listeners/{listener_id}/reports`: compare-and-set on (epoch, seq). seq increases within an epoch. A seq that is not
 * above the highest accepted seq is acknowledged without effect. Gaps are valid, because reports contain states, not
 * changes. After a failed call, a listener sends its current state with the next seq. Reports of one deployment are
 * applied in order.
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
    .describe(
      'True: a report contains a generation that the hub does not know. The listener must send a complete inventory.',
    ),
});
export type ReportsResponse = z.infer<typeof reportsResponseSchema>;

/** Maximum number of items of an inventory, more than twice the intended number of deployments in a cluster. */
export const MAX_INVENTORY = 20_000;

/**
 * `POST /v2/listeners/{listener_id}/inventory`: the custom resources in the cluster. The hub marks deployments that differ as
 * due.
 */
export const inventoryRequestSchema = z.object({
  epoch: z.int(),
  complete: z
    .boolean()
    .describe('True: the list is complete. A deployment that is not in the list is missing in the cluster.'),
  namespaces: z
    .array(dnsLabelSchema)
    .max(1000)
    .optional()
    .describe('The namespaces that the list covers. Absent: the whole cluster.'),
  items: z
    .array(
      z.object({
        deployment_id: z.string().max(64),
        name: z.string().max(253),
        namespace: z.string().max(63),
        uid: z.string().max(64).nullable().describe('null: the resource was deleted.'),
        generation: z.int().describe('Generation of the record, which the hub sets.'),
        spec_hash: z.string().max(64).describe('Hash of the current spec.'),
        applied_hash: z
          .string()
          .max(64)
          .nullable()
          .describe(
            'Hash of the spec that a listener applied last. If this hash differs from spec_hash, the spec was edited ' +
              'by hand.',
          ),
      }),
    )
    .max(MAX_INVENTORY),
});
export type InventoryRequest = z.infer<typeof inventoryRequestSchema>;
export type InventoryItem = InventoryRequest['items'][number];
export const inventoryResponseSchema = z.object({
  due: z.int().describe('Number of deployments that this inventory marked as due.'),
  unknown: z
    .array(z.string())
    .describe('Ids that the hub does not know. The hub reports these ids and does not change the resources.'),
});
export type InventoryResponse = z.infer<typeof inventoryResponseSchema>;
