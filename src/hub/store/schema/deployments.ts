import type { BranchWatch } from '../../../domain/builds/branch-watch.ts';
import type { RevisionBuild } from '../../../domain/builds/build.ts';
import type { Condition } from '../../../domain/conditions/conditions.ts';
import type { Culprit, ReportedFailure } from '../../../domain/conditions/failure-source.ts';
import type { ReportedSymptom } from '../../../domain/conditions/symptoms.ts';
import type { SourceConfig, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { DeploymentType, Source } from '../../../domain/deployment/source.ts';
import type { FormerSize } from '../../../domain/resource-spec/former-sizes.ts';
import type { DeploymentStatus, RevisionStatus } from '../../../domain/revision/states.ts';
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  sql,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from '../core/drizzle.ts';
import { bytea } from './bytea.ts';
import { listeners } from './listeners.ts';
import { tenants } from './tenancy.ts';

const time = (name: string) => timestamp(name, { withTimezone: true });
const amount = (name: string) => bigint(name, { mode: 'number' });

/** Where traces of a deployment go; made with it, of the same name, and may outlive it. */
export const tracingProjects = pgTable(
  'tracing_projects',
  {
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    name: text().notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** The tracing backend's id of it, from its answer; null: not told, or the answer named none. */
    backendId: text('backend_id'),
    /** When the tracing backend last acknowledged it; null: never, or no backend is configured. */
    backendSyncedAt: time('backend_synced_at'),
  },
  (table) => [
    uniqueIndex('tracing_projects_name').on(table.tenantId, table.name),
    // What the tracing backend has still to be told of (outbox.ts).
    index('tracing_projects_unsynced').on(table.id).where(sql`${table.backendSyncedAt} IS NULL`),
  ],
);

/**
 * What is wanted of each deployment, and what was last observed.
 * secrets_id, latest_revision_id and active_revision_id are no foreign keys: what they name is written in the same
 * statement and goes with the deployment by cascade; the keys would cost an index each.
 */
export const deployments = pgTable(
  'deployments',
  {
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    name: text().notNull(),
    source: text().$type<Source>().notNull(),
    /** Of source_config; a column for the list's filter. */
    deploymentType: text('deployment_type').$type<DeploymentType>(),
    /** As sent; unset is null. */
    sourceConfig: jsonb('source_config').$type<SourceConfig>().notNull(),
    /** Of the latest revision; before the first one: as sent. */
    sourceRevisionConfig: jsonb('source_revision_config').$type<SourceRevisionConfig>().notNull(),
    /** Of the latest revision; before the first one: as sent. null: no secrets. */
    secretsId: uuid('secrets_id'),
    /** Host of source_config.custom_url in lower case: belongs to one deployment across all tenants. */
    routeHost: text('route_host'),
    /** Tag of the latest revision's image. */
    imageVersion: text('image_version'),
    /** Base name of all Kubernetes objects. */
    appName: text('app_name').notNull(),
    namespace: text().notNull(),
    listenerId: uuid('listener_id')
      .notNull()
      .references(() => listeners.id),
    tracingProjectId: uuid('tracing_project_id')
      .notNull()
      .references(() => tracingProjects.id),
    /** Raised by each change of what is wanted, deletion included. */
    generation: integer().notNull().default(1),
    latestRevisionId: uuid('latest_revision_id'),
    activeRevisionId: uuid('active_revision_id'),
    /** A revision exists that can run or may still come to run: not only failed builds. */
    hasRunnableRevision: boolean('has_runnable_revision').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** Last change of what is wanted or active; mere observations leave it alone. */
    updatedAt: time('updated_at').notNull().defaultNow(),
    deleteRequestedAt: time('delete_requested_at'),
    deleteTracingProject: boolean('delete_tracing_project').notNull().default(false),
    /** Its end takes nothing but the custom resource from the cluster: what runs stays, without Berth. */
    keepWorkloads: boolean('keep_workloads').notNull().default(false),
    /** What it counts for in its tenant's quotas (domain/policy/quota-usage.ts); null: not measured yet (hub/store/deployments/quotas.ts does). */
    quotaCpuM: amount('quota_cpu_m'),
    quotaMemoryMb: amount('quota_memory_mb'),
    quotaStorageGi: amount('quota_storage_gi'),
    /** End of the deletion grace: until then nothing but pods is removed and the deployment can be restored. */
    purgeAfter: time('purge_after'),

    /** Work for the listener is due while generation > acknowledged_generation and next_attempt_at has come. */
    acknowledgedGeneration: integer('acknowledged_generation').notNull().default(0),
    nextAttemptAt: time('next_attempt_at').notNull().defaultNow(),
    attempts: integer().notNull().default(0),
    /** The item was given to the listener's holder. While it is not acknowledged, and not refused, a successor gets it at once. */
    handedOut: boolean('handed_out').notNull().default(false),
    /** Raised when the item is to be made anew though nothing new is wanted (hub/store/listeners/requeue-work.ts). */
    workVersion: integer('work_version').notNull().default(0),
    /** Hash of the custom resource's spec that was last handed out, for the inventory. */
    specHash: text('spec_hash'),

    /** The hub's generation that the operator had seen; null: nothing observed yet. */
    observedGeneration: integer('observed_generation'),
    conditions: jsonb().$type<Condition[]>().notNull().default([]),
    url: text(),
    observedOff: boolean('observed_off').notNull().default(false),
    dataReady: boolean('data_ready').notNull().default(false),
    observedAt: time('observed_at'),
    /** A change in place that failed and was turned back, while its revision stays DEPLOYED; null: the last one did not. */
    inPlaceFailure: jsonb('in_place_failure').$type<ReportedFailure>(),
    /** What is wrong with running pods outside of rollouts, as last observed; null: nothing is. */
    symptoms: jsonb().$type<ReportedSymptom[]>(),
    /** What the database's volume claim asks for, as last observed, in Gi and rounded up; null: there is none, or nobody told. */
    volumeGi: integer('volume_gi'),
    /** Sizes of the database's volume that were in effect before, and are accepted again (domain/resource-spec/former-sizes.ts). */
    formerSizes: jsonb('former_sizes').$type<FormerSize[]>().notNull().default([]),

    /** When its branch is to be looked at for a commit that no webhook told of; null: nothing is built on push. */
    nextPollAt: time('next_poll_at'),
    /** What is known of the tracked branch; null: nothing yet. */
    branchWatch: jsonb('branch_watch').$type<BranchWatch>(),

    /** Deployment.status but for UNKNOWN, which depends on the listener's lease (see hub/store/deployments/status.ts). */
    recordedStatus: text('recorded_status')
      .$type<Exclude<DeploymentStatus, 'UNKNOWN'>>()
      .notNull()
      .generatedAlwaysAs(
        sql`CASE WHEN delete_requested_at IS NOT NULL THEN 'AWAITING_DELETE' WHEN NOT has_runnable_revision OR observed_off THEN 'UNUSED' WHEN NOT data_ready THEN 'AWAITING_DATABASE' ELSE 'READY' END`,
      ),
  },
  (table) => [
    uniqueIndex('deployments_name')
      .on(table.tenantId, table.name)
      .where(sql`${table.deleteRequestedAt} IS NULL`),
    uniqueIndex('deployments_route_host')
      .on(table.routeHost)
      .where(sql`${table.routeHost} IS NOT NULL AND ${table.deleteRequestedAt} IS NULL`),
    index('deployments_newest').on(table.tenantId, table.id),
    index('deployments_by_name').on(table.tenantId, table.name),
    index('deployments_by_status').on(table.tenantId, table.recordedStatus, table.id),
    index('deployments_by_image_version').on(table.tenantId, table.imageVersion, table.id),
    index('deployments_by_type').on(table.tenantId, table.deploymentType, table.id),
    index('deployments_unreconciled')
      .on(table.tenantId, table.id)
      .where(sql`${table.observedGeneration} IS DISTINCT FROM ${table.generation}`),
    index('deployments_due')
      .on(table.listenerId, table.nextAttemptAt)
      .where(sql`${table.generation} > ${table.acknowledgedGeneration}`),
    index('deployments_by_listener').on(table.listenerId, table.id),
    index('deployments_on_their_way_out').on(table.id).where(sql`${table.deleteRequestedAt} IS NOT NULL`),
    index('deployments_by_tracing_project').on(table.tracingProjectId),
    index('deployments_polled').on(table.nextPollAt).where(sql`${table.nextPollAt} IS NOT NULL`),
    // Whom a push to a repository concerns.
    index('deployments_by_repository')
      .on(table.tenantId, sql`(${table.sourceConfig} ->> 'integration_id')`)
      .where(sql`${table.source} = 'git_host' AND ${table.deleteRequestedAt} IS NULL`),
  ],
);

/** Immutable versions of source_revision_config and secrets. */
export const revisions = pgTable(
  'revisions',
  {
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    deploymentId: uuid('deployment_id')
      .notNull()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    /** 1, 2, 3 … within the deployment, without gaps. */
    number: integer().notNull(),
    status: text().$type<RevisionStatus>().notNull(),
    reason: text(),
    message: text(),
    /** What made it fail, as the operator saw it; null: it did not fail, or the culprit is unknown. */
    culprit: jsonb().$type<Culprit>(),
    sourceRevisionConfig: jsonb('source_revision_config').$type<SourceRevisionConfig>().notNull(),
    secretsId: uuid('secrets_id'),
    /** The Secret with its environment is known not to be in the cluster any more; false: it may be there. */
    environmentGone: boolean('environment_gone').notNull().default(false),
    /** Digest-pinned image, where it could be resolved or was built. */
    resolvedImage: text('resolved_image'),
    /** How its build went, as last observed; null: nothing of it was built. */
    build: jsonb().$type<RevisionBuild>(),
    /** When it was first seen to roll; null: never. */
    startedAt: time('started_at'),
    createdAt: time('created_at').notNull().defaultNow(),
    updatedAt: time('updated_at').notNull().defaultNow(),
    deployedAt: time('deployed_at'),
  },
  (table) => [
    uniqueIndex('revisions_number').on(table.deploymentId, table.number),
    index('revisions_with_environment')
      .on(table.deploymentId, table.number)
      .where(sql`${table.secretsId} IS NOT NULL AND NOT ${table.environmentGone}`),
  ],
);

/** Secrets of revisions, sealed (hub/store/secrets/secret-box.ts); revisions with the same secrets share a row. */
export const secretSets = pgTable(
  'secret_sets',
  {
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    deploymentId: uuid('deployment_id')
      .notNull()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    /** Which key sealed it. */
    keyId: text('key_id').notNull(),
    sealed: bytea().notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (table) => [
    index('secret_sets_by_deployment').on(table.deploymentId),
    index('secret_sets_by_key').on(table.keyId),
  ],
);

/** What is left of a deployment once its cluster is clean: kept 30 days, so that leftovers are recognised. */
export const tombstones = pgTable(
  'tombstones',
  {
    /** The deployment's id. */
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id').notNull(),
    listenerId: uuid('listener_id').notNull(),
    name: text().notNull(),
    appName: text('app_name').notNull(),
    namespace: text().notNull(),
    /** Of the deployment when it went. */
    generation: integer().notNull(),
    /** Numbers of its revisions that had an environment: the listener may not list Secrets. */
    envRevisions: integer('env_revisions').array().notNull().default([]),
    /** It left so: should anything of it be found, nothing but the custom resource is purged. */
    keepWorkloads: boolean('keep_workloads').notNull().default(false),
    /** What runs of it still has its hosts and pulls its images; false once that was given up. */
    keptWorkloads: boolean('kept_workloads').notNull().default(false),
    purgedAt: time('purged_at').notNull().defaultNow(),
    /** True: purge work, as something of it may be in the cluster: it was forgotten, found there, or is looked at once more. */
    due: boolean().notNull().default(false),
    nextAttemptAt: time('next_attempt_at').notNull().defaultNow(),
    /** 0: not handed out yet; then one more with each refusal. */
    attempts: integer().notNull().default(0),
    /** From when on it is to be looked at a second time; null: it was (listener-inventory.ts). */
    lookAgainAt: time('look_again_at').default(sql`now() + interval '1 minute'`),
  },
  (table) => [
    index('tombstones_due').on(table.listenerId, table.nextAttemptAt).where(sql`${table.due}`),
    index('tombstones_by_age').on(table.purgedAt),
    index('tombstones_to_look_again')
      .on(table.listenerId, table.lookAgainAt)
      .where(sql`${table.lookAgainAt} IS NOT NULL`),
  ],
);

/** Hosts that deployments have given up, until their routes are seen to be gone (hub/store/deployments/host-reservations.ts). */
export const leavingHosts = pgTable(
  'leaving_hosts',
  {
    /** As route_host. */
    host: text().primaryKey(),
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    deploymentId: uuid('deployment_id')
      .notNull()
      .references(() => deployments.id, { onDelete: 'cascade' }),
    /** The first one without the host. */
    generation: integer().notNull(),
    /** Since it was given up, the route was seen to lead elsewhere, or nowhere. */
    clear: boolean().notNull().default(false),
  },
  (table) => [index('leaving_hosts_by_deployment').on(table.deploymentId)],
);

/**
 * Hosts of what has left Berth with keep_workloads: its routes are in the cluster, and nobody tells when they go
 * (hub/store/deployments/host-reservations.ts). No foreign keys: they outlive deployment and tenant.
 */
export const keptHosts = pgTable(
  'kept_hosts',
  {
    /** As route_host. */
    host: text().primaryKey(),
    tenantId: uuid('tenant_id').notNull(),
    /** Those that have left with it. */
    deploymentIds: uuid('deployment_ids').array().notNull(),
    keptAt: time('kept_at').notNull().defaultNow(),
  },
  (table) => [index('kept_hosts_by_tenant').on(table.tenantId)],
);

/**
 * Repositories of the platform's registry in which something may be that nobody needs (hub/store/builds/repository-cleanups.ts). No
 * foreign keys: what a deployment or a tenant leaves there is removed after they have gone.
 */
export const repositoryCleanings = pgTable(
  'repository_cleanings',
  {
    deploymentId: uuid('deployment_id').primaryKey(),
    tenantId: uuid('tenant_id').notNull(),
    appName: text('app_name').notNull(),
    /** The deployment has gone, and nothing runs its images any more: all of them go. */
    whole: boolean().notNull().default(false),
    /** While an attempt is under way: when another process may take it over. */
    nextAttemptAt: time('next_attempt_at').notNull().defaultNow(),
    /** Raised when an attempt begins. */
    attempts: integer().notNull().default(0),
  },
  (table) => [index('repository_cleanings_due').on(table.nextAttemptAt)],
);
