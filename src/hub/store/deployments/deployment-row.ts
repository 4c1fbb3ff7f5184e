import type { Condition } from '../../../domain/conditions/conditions.ts';
import type { SourceConfig, SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import type { DeploymentType, Source } from '../../../domain/deployment/source.ts';
import type { FormerSize } from '../../../domain/resource-spec/former-sizes.ts';
import type { DeploymentStatus } from '../../../domain/revision/states.ts';
import type { DeploymentRecord } from '../core/records.ts';
import { DEPLOYMENT_STATUS, LISTENER_ALIVE, UNOBSERVED_REASON } from './status.ts';

/** The columns of a DeploymentRecord. Aliases: `d` deployments, `l` its listener, `s` its secrets (optional). */
export const DEPLOYMENT_COLUMNS = `
  d.id, d.tenant_id, d.name, d.source, d.deployment_type, d.source_config, d.source_revision_config,
  d.image_version, d.app_name, d.namespace, d.listener_id, d.tracing_project_id, d.generation,
  d.acknowledged_generation, d.latest_revision_id, d.active_revision_id, d.has_runnable_revision,
  d.created_at, d.updated_at, d.delete_requested_at, d.purge_after, d.delete_tracing_project,
  d.observed_generation, d.conditions, d.url, d.observed_off, d.data_ready, d.observed_at, d.volume_gi, d.former_sizes,
  ${DEPLOYMENT_STATUS} AS status,
  l.ever_seen AS listener_ever_seen, ${LISTENER_ALIVE} AS listener_alive, l.last_seen_at AS listener_last_seen_at,
  ${UNOBSERVED_REASON} AS unseen,
  coalesce(l.lease_expires_at > now(), false) AS listener_leased, (l.awaits_inventory AND l.cluster_reachable) AS listener_returning,
  coalesce(l.lost_at, l.lease_expires_at) AS listener_lost_at,
  d.secrets_id, s.key_id AS secrets_key_id, s.sealed AS secrets_sealed`;

export interface DeploymentRow {
  id: string;
  tenant_id: string;
  name: string;
  source: Source;
  deployment_type: DeploymentType | null;
  source_config: SourceConfig;
  source_revision_config: SourceRevisionConfig;
  image_version: string | null;
  app_name: string;
  namespace: string;
  listener_id: string;
  tracing_project_id: string;
  generation: number;
  acknowledged_generation: number;
  latest_revision_id: string | null;
  active_revision_id: string | null;
  has_runnable_revision: boolean;
  created_at: Date;
  updated_at: Date;
  delete_requested_at: Date | null;
  purge_after: Date | null;
  delete_tracing_project: boolean;
  observed_generation: number | null;
  conditions: Condition[];
  url: string | null;
  observed_off: boolean;
  data_ready: boolean;
  observed_at: Date | null;
  volume_gi: number | null;
  former_sizes: FormerSize[];
  status: DeploymentStatus;
  listener_ever_seen: boolean;
  listener_alive: boolean;
  listener_last_seen_at: Date | null;
  unseen: string | null;
  listener_leased: boolean;
  listener_returning: boolean;
  listener_lost_at: Date | null;
  secrets_id: string | null;
  secrets_key_id: string | null;
  secrets_sealed: Buffer | null;
}

function observationOf(row: DeploymentRow): DeploymentRecord['observation'] {
  if (row.observed_at === null) return null;
  return {
    generation: row.observed_generation ?? 0,
    conditions: row.conditions,
    url: row.url,
    off: row.observed_off,
    dataReady: row.data_ready,
    observedAt: row.observed_at,
  };
}

function secretsOf(row: DeploymentRow): DeploymentRecord['secrets'] {
  const { secrets_id: id, secrets_key_id: keyId, secrets_sealed: sealed } = row;
  if (id === null || keyId === null || sealed === null) return null;
  return { id, tenantId: row.tenant_id, deploymentId: row.id, keyId, sealed };
}

export function toDeploymentRecord(row: DeploymentRow): DeploymentRecord {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    source: row.source,
    deploymentType: row.deployment_type,
    sourceConfig: row.source_config,
    sourceRevisionConfig: row.source_revision_config,
    secrets: secretsOf(row),
    imageVersion: row.image_version,
    appName: row.app_name,
    namespace: row.namespace,
    listenerId: row.listener_id,
    tracingProjectId: row.tracing_project_id,
    generation: row.generation,
    acknowledgedGeneration: row.acknowledged_generation,
    latestRevisionId: row.latest_revision_id,
    activeRevisionId: row.active_revision_id,
    hasRunnableRevision: row.has_runnable_revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deleteRequestedAt: row.delete_requested_at,
    purgeAfter: row.purge_after,
    deleteTracingProject: row.delete_tracing_project,
    conditions: row.conditions,
    observation: observationOf(row),
    volumeGi: row.volume_gi,
    formerSizes: row.former_sizes,
    status: row.status,
    listener: {
      everSeen: row.listener_ever_seen,
      alive: row.listener_alive,
      lastSeenAt: row.listener_last_seen_at,
      leased: row.listener_leased,
      returning: row.listener_returning,
      unseen: row.unseen,
      lostAt: row.listener_lost_at,
    },
  };
}
