import { deployments } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

const NAMES = [
  'id',
  'tenantId',
  'appName',
  'namespace',
  'generation',
  'acknowledgedGeneration',
  'attempts',
  'workVersion',
  'hasRunnableRevision',
  'activeRevisionId',
  'conditions',
  'url',
  'observedDomains',
  'observedGeneration',
  'observedOff',
  'dataReady',
  'observedAt',
  'inPlaceFailure',
  'symptoms',
  'volumeGi',
] as const;

/**
 * Locks the deployments of reports. The rows are locked in the order of their ids, as in all code that locks several
 * deployments. With these locks, no other transaction can change the deployments or their revisions.
 */
export const lockReportedStatement = statement<
  { listenerId: string; deploymentIds: readonly string[] },
  Columns<typeof deployments, (typeof NAMES)[number]> & {
    deleting: boolean;
    switchedOff: boolean;
    /** Remaining grace period of the deletion; null: none. */
    purgeInMs: number | null;
  }
>(
  'lock_reported',
  `SELECT ${columns(deployments, 'd', NAMES)}, d.delete_requested_at IS NOT NULL AS deleting,
  (d.source_config -> 'resource_spec' ->> 'max_scale' = '0') IS TRUE AS "switchedOff",
  CASE WHEN d.purge_after > now() THEN extract(epoch FROM d.purge_after - now())::float8 * 1000 END AS "purgeInMs"
FROM deployments d WHERE d.listener_id = :listenerId AND d.id = ANY(:deploymentIds::uuid[])
ORDER BY d.id FOR UPDATE`,
);
