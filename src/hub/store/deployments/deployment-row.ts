import type { DeploymentStatus } from '../../../domain/revision/states.ts';
import type { DeploymentRecord } from '../core/records.ts';
import { type Columns, columns } from '../core/statement.ts';
import { deployments } from '../schema/deployments.ts';
import { DEPLOYMENT_STATUS, LISTENER_ALIVE, UNOBSERVED_REASON } from './status.ts';

/** Columns that a DeploymentRecord has under the same name. */
const SAME = [
  'id',
  'tenantId',
  'name',
  'source',
  'deploymentType',
  'sourceConfig',
  'sourceRevisionConfig',
  'imageVersion',
  'appName',
  'namespace',
  'listenerId',
  'tracingProjectId',
  'generation',
  'acknowledgedGeneration',
  'latestRevisionId',
  'activeRevisionId',
  'hasRunnableRevision',
  'createdAt',
  'updatedAt',
  'updatedBy',
  'deleteRequestedAt',
  'purgeAfter',
  'deleteTracingProject',
  'conditions',
  'volumeGi',
  'formerSizes',
] as const;

/** Columns of the observation and the secrets. */
const NESTED = [
  'observedGeneration',
  'url',
  'observedDomains',
  'observedOff',
  'dataReady',
  'observedAt',
  'secretsId',
] as const;

/** The columns of a DeploymentRecord. Aliases: `d` deployments, `l` its listener, `s` its secrets (optional). */
export const DEPLOYMENT_COLUMNS = `
  ${columns(deployments, 'd', [...SAME, ...NESTED])}, ${DEPLOYMENT_STATUS} AS status,
  CASE WHEN d.source_config ? 'domains' THEN (SELECT domain_token FROM tenants WHERE id = d.tenant_id) END
    AS "domainToken",
  s.key_id AS "secretsKeyId", s.sealed AS "secretsSealed",
  l.ever_seen AS "listenerEverSeen", ${LISTENER_ALIVE} AS "listenerAlive", l.last_seen_at AS "listenerLastSeenAt",
  coalesce(l.lease_expires_at > now(), false) AS "listenerLeased",
  (l.awaits_inventory AND l.cluster_reachable) AS "listenerReturning", ${UNOBSERVED_REASON} AS "listenerUnseen",
  coalesce(l.lost_at, l.lease_expires_at) AS "listenerLostAt"`;

type SameColumns = Columns<typeof deployments, (typeof SAME)[number]>;

/** A row of DEPLOYMENT_COLUMNS. */
export type DeploymentRow = SameColumns &
  Columns<typeof deployments, (typeof NESTED)[number]> & {
    status: DeploymentStatus;
    domainToken: string | null;
    secretsKeyId: string | null;
    secretsSealed: Buffer | null;
    listenerEverSeen: boolean;
    listenerAlive: boolean;
    listenerLastSeenAt: Date | null;
    listenerLeased: boolean;
    listenerReturning: boolean;
    listenerUnseen: string | null;
    listenerLostAt: Date | null;
  };

function observationOf(row: DeploymentRow): DeploymentRecord['observation'] {
  const {
    observedGeneration,
    conditions,
    url,
    observedDomains,
    observedOff: off,
    dataReady,
    observedAt,
  } = row;
  if (observedAt === null) return null;
  return {
    generation: observedGeneration ?? 0,
    conditions,
    url,
    domains: observedDomains,
    off,
    dataReady,
    observedAt,
  };
}

function secretsOf(row: DeploymentRow): DeploymentRecord['secrets'] {
  const { secretsId: id, secretsKeyId: keyId, secretsSealed: sealed } = row;
  if (id === null || keyId === null || sealed === null) return null;
  return { id, tenantId: row.tenantId, deploymentId: row.id, keyId, sealed };
}

/**
 * The columns of SAME are copied one by one. A row may have further columns of its statement, and an object spread of
 * this many columns takes several times as long, in each row of a list.
 */
export function toDeploymentRecord(row: DeploymentRow): DeploymentRecord {
  const others: Omit<DeploymentRecord, keyof SameColumns> = {
    status: row.status,
    domainToken: row.domainToken,
    secrets: secretsOf(row),
    observation: observationOf(row),
    listener: {
      everSeen: row.listenerEverSeen,
      alive: row.listenerAlive,
      lastSeenAt: row.listenerLastSeenAt,
      leased: row.listenerLeased,
      returning: row.listenerReturning,
      unseen: row.listenerUnseen,
      lostAt: row.listenerLostAt,
    },
  };
  const record: Partial<Record<keyof DeploymentRecord, unknown>> = others;
  for (const name of SAME) record[name] = row[name];
  return record as SameColumns & typeof others;
}
