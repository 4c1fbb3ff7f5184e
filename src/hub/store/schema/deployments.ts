import type { DomainsReport } from '../../../domain/app-hosts/domain-status.ts';
import type { RevisionBuild } from '../../../domain/builds/build.ts';
import type { Condition } from '../../../domain/conditions/conditions.ts';
import type { FailureSource, ReportedFailure } from '../../../domain/conditions/failure-source.ts';
import type { ReportedSymptom } from '../../../domain/conditions/symptoms.ts';
import type { SourceConfig, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { DeploymentType, Source } from '../../../domain/deployment/source.ts';
import type { FormerSize } from '../../../domain/resource-spec/former-sizes.ts';
import type { DeploymentStatus, RevisionStatus } from '../../../domain/revision/states.ts';
import type { StoredBranchWatch } from '../builds/stored-branch-watch.ts';
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
import type { Stored } from '../core/stored-failure.ts';
import type { GenerationAuthor } from '../sql/fragments/generation-author.ts';
import { bytea } from './bytea.ts';
import { listeners } from './listeners.ts';
import { ofTenant } from './tenancy.ts';

const time = (name: string) => timestamp(name, { withTimezone: true });
const amount = (name: string) => bigint(name, { mode: 'number' });

/**
 * The tracing project of a deployment. The project is created with the deployment under the same name, and may outlive
 * the deployment.
 */
export const tracingProjects = pgTable(
  'tracing_projects',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
    name: text().notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** The tracing backend's id, from its response; null: the project was not sent yet, or the response had no id. */
    backendId: text('backend_id'),
    /** When the tracing backend last acknowledged the project; null: never, or no backend is configured. */
    backendSyncedAt: time('backend_synced_at'),
  },
  (table) => [
    uniqueIndex('tracing_projects_name').on(table.tenantId, table.name),
    // Projects that the tracing backend does not know yet (outbox.ts).
    index('tracing_projects_unsynced').on(table.id).where(sql`${table.backendSyncedAt} IS NULL`),
  ],
);

/**
 * The desired state of each deployment, and the last observation. secrets_id, latest_revision_id and active_revision_id
 * are not foreign keys, because their rows are written in the same statement and deleted with the deployment by
 * cascade. Each foreign key would cost an index.
 */
export const deployments = pgTable(
  'deployments',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
    name: text().notNull(),
    source: text().$type<Source>().notNull(),
    /** The value in source_config, as a column for the filter of the list. */
    deploymentType: text('deployment_type').$type<DeploymentType>(),
    /** As sent. Unset fields are null. */
    sourceConfig: jsonb('source_config').$type<SourceConfig>().notNull(),
    /** The source_revision_config of the latest revision; before the first revision, the value as it was sent. */
    sourceRevisionConfig: jsonb('source_revision_config').$type<SourceRevisionConfig>().notNull(),
    /** Secrets of the latest revision; before the first revision, the secrets as they were sent. null: no secrets. */
    secretsId: uuid('secrets_id'),
    /** Host of source_config.custom_url in lower case, unique across all tenants. */
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
    /** The generation, which each change of the desired state increments, including the deletion. */
    generation: integer().notNull().default(1),
    latestRevisionId: uuid('latest_revision_id'),
    activeRevisionId: uuid('active_revision_id'),
    /** Whether a revision exists that can run or may run later, that is, not only failed builds. */
    hasRunnableRevision: boolean('has_runnable_revision').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /**
     * Time of the last change of the desired state or the active revision. Other observations do not change this time.
     */
    updatedAt: time('updated_at').notNull().defaultNow(),
    /** The author of the generation that it names. A version without this column changes the generation only. */
    updatedBy: jsonb('updated_by').$type<GenerationAuthor>(),
    deleteRequestedAt: time('delete_requested_at'),
    deleteTracingProject: boolean('delete_tracing_project').notNull().default(false),
    /**
     * Whether the deletion removes only the custom resource from the cluster. The workloads remain, and Berth no longer
     * manages them.
     */
    keepWorkloads: boolean('keep_workloads').notNull().default(false),
    /**
     * Quota usage of the deployment (domain/policy/quota-usage.ts); null: not measured yet (see
     * hub/store/deployments/quotas.ts).
     */
    quotaCpuM: amount('quota_cpu_m'),
    quotaMemoryMb: amount('quota_memory_mb'),
    quotaStorageGi: amount('quota_storage_gi'),
    quotaGpus: amount('quota_gpus'),
    /**
     * The generation whose devices quotaGpus counts. Another generation, or null: a version that does not know devices has
     * changed the deployment since, so it is measured again.
     */
    quotaGpusGeneration: integer('quota_gpus_generation'),
    /** End of the grace period. Until then, only pods are removed, and the deployment can be restored. */
    purgeAfter: time('purge_after'),

    /** Work for the listener is due while generation > acknowledged_generation and next_attempt_at has passed. */
    acknowledgedGeneration: integer('acknowledged_generation').notNull().default(0),
    nextAttemptAt: time('next_attempt_at').notNull().defaultNow(),
    attempts: integer().notNull().default(0),
    /**
     * Whether the item was handed to the current holder of the lease. If the item is neither acknowledged nor rejected,
     * the next holder of the lease gets the item at once.
     */
    handedOut: boolean('handed_out').notNull().default(false),
    /**
     * Version of the item, which is incremented when the item is requeued without a new desired state
     * (hub/store/listeners/requeue-work.ts).
     */
    workVersion: integer('work_version').notNull().default(0),
    /** Hash of the custom resource's spec that was last handed out, to compare with the inventory. */
    specHash: text('spec_hash'),

    /** The hub's generation that the operator observed last; null: no generation was observed yet. */
    observedGeneration: integer('observed_generation'),
    conditions: jsonb().$type<Condition[]>().notNull().default([]),
    url: text(),
    /** The last observed state of source_config.domains; null: not reported. */
    observedDomains: jsonb('observed_domains').$type<DomainsReport>(),
    observedOff: boolean('observed_off').notNull().default(false),
    dataReady: boolean('data_ready').notNull().default(false),
    observedAt: time('observed_at'),
    /**
     * The failure of the last change in place, which was rolled back while its revision remains DEPLOYED; null: it did
     * not fail.
     */
    inPlaceFailure: jsonb('in_place_failure').$type<Stored<ReportedFailure>>(),
    /** The last observed problem of running pods outside of rollouts; null: no problem. */
    symptoms: jsonb().$type<Stored<ReportedSymptom>[]>(),
    /**
     * The last observed request of the database's volume claim, in Gi, rounded up; null: the database has no claim, or
     * the request was not reported.
     */
    volumeGi: integer('volume_gi'),
    /** Earlier sizes of the database's volume that are accepted again (domain/resource-spec/former-sizes.ts). */
    formerSizes: jsonb('former_sizes').$type<FormerSize[]>().notNull().default([]),
    /**
     * uid of the database's volume claim whose confirmed removal has begun, so it cannot be taken back; null: no removal
     * has begun.
     */
    removingClaim: text('removing_claim'),

    /** When the branch is polled for a commit that no webhook reported; null: the deployment is not built on push. */
    nextPollAt: time('next_poll_at'),
    /** The known state of the tracked branch; null: not known yet. */
    branchWatch: jsonb('branch_watch').$type<StoredBranchWatch>(),

    /**
     * Deployment.status except UNKNOWN, which depends on the listener's lease (see hub/store/deployments/status.ts).
     */
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
    // An index of names that early versions stored as they were sent. Most installations have no names that are not
    // normalized.
    index('deployments_other_spellings')
      .on(table.tenantId)
      .where(
        sql`${table.deleteRequestedAt} IS NULL AND NOT (octet_length(${table.name}) = length(${table.name}) AND ${table.name} = btrim(${table.name}))`,
      ),
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
    // An index to find the deployments that a push to a repository affects.
    index('deployments_by_repository')
      .on(table.tenantId, sql`(${table.sourceConfig} ->> 'integration_id')`)
      .where(sql`${table.source} = 'git_host' AND ${table.deleteRequestedAt} IS NULL`),
  ],
);

/** The column with the deployment of a row that is deleted with it. */
export const ofDeployment = () =>
  uuid('deployment_id')
    .notNull()
    .references(() => deployments.id, { onDelete: 'cascade' });

/** Immutable versions of source_revision_config and secrets. */
export const revisions = pgTable(
  'revisions',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
    deploymentId: ofDeployment(),
    /** Sequence number within the deployment without gaps: 1, 2, 3 … */
    number: integer().notNull(),
    status: text().$type<RevisionStatus>().notNull(),
    reason: text(),
    message: text(),
    /**
     * The cause of the failure of the revision, as the operator reported it; null: the revision did not fail, or the
     * cause is not known.
     */
    failureSource: jsonb('culprit').$type<FailureSource>(),
    sourceRevisionConfig: jsonb('source_revision_config').$type<SourceRevisionConfig>().notNull(),
    secretsId: uuid('secrets_id'),
    /** Whether the Secret with the environment was removed from the cluster; false: it may exist. */
    environmentGone: boolean('environment_gone').notNull().default(false),
    /** Digest-pinned image, if it was resolved or built. */
    resolvedImage: text('resolved_image'),
    /** The last observed state of the build; null: no build was observed. */
    build: jsonb().$type<RevisionBuild>(),
    /** When the rollout of the revision was first observed; null: never. */
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

/** Encrypted secrets of revisions (hub/store/secrets/secret-box.ts). Revisions with the same secrets share a row. */
export const secretSets = pgTable(
  'secret_sets',
  {
    id: uuid().primaryKey(),
    tenantId: ofTenant(),
    deploymentId: ofDeployment(),
    /** The id of the key that encrypted the value. */
    keyId: text('key_id').notNull(),
    sealed: bytea().notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (table) => [
    index('secret_sets_by_deployment').on(table.deploymentId),
    index('secret_sets_by_key').on(table.keyId),
  ],
);

/**
 * A tombstone of a deployment that has no more objects in its cluster. The row is kept for 30 days, so that leftover
 * objects are recognized.
 */
export const tombstones = pgTable(
  'tombstones',
  {
    /** The id of the deployment. */
    id: uuid().primaryKey(),
    tenantId: uuid('tenant_id').notNull(),
    listenerId: uuid('listener_id').notNull(),
    name: text().notNull(),
    appName: text('app_name').notNull(),
    namespace: text().notNull(),
    /** The generation of the deployment when it was removed. */
    generation: integer().notNull(),
    /**
     * Numbers of the revisions that had an environment. The numbers are stored because the listener may not list
     * Secrets.
     */
    envRevisions: integer('env_revisions').array().notNull().default([]),
    /**
     * Whether the deployment was deleted with keep_workloads. If one of its objects is found, only the custom resource
     * is purged.
     */
    keepWorkloads: boolean('keep_workloads').notNull().default(false),
    /**
     * Whether the workloads still use the hosts and images of the deployment; false: hosts and images were released.
     */
    keptWorkloads: boolean('kept_workloads').notNull().default(false),
    purgedAt: time('purged_at').notNull().defaultNow(),
    /**
     * Whether the tombstone is purge work, because the cluster may contain objects of the deployment. The record was
     * removed with force, an object was found, or the second purge is due.
     */
    due: boolean().notNull().default(false),
    nextAttemptAt: time('next_attempt_at').notNull().defaultNow(),
    /** Number of attempts, incremented with each rejection; 0: not handed out yet. */
    attempts: integer().notNull().default(0),
    /** When the second purge is due; null: the second purge is done (listener-inventory.ts). */
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

/**
 * Repositories of the platform's registry that may contain unused images (hub/store/builds/repository-cleanups.ts). The
 * table has no foreign keys, because images of a deployment or tenant are removed after its deletion.
 */
export const repositoryCleanings = pgTable(
  'repository_cleanings',
  {
    deploymentId: uuid('deployment_id').primaryKey(),
    tenantId: uuid('tenant_id').notNull(),
    appName: text('app_name').notNull(),
    /** Whether all images are removed, because the deployment is deleted and no pod runs its images. */
    whole: boolean().notNull().default(false),
    /** During an attempt, the time at which another process may take over. */
    nextAttemptAt: time('next_attempt_at').notNull().defaultNow(),
    /** Number of attempts, incremented when an attempt begins. */
    attempts: integer().notNull().default(0),
  },
  (table) => [index('repository_cleanings_due').on(table.nextAttemptAt)],
);
