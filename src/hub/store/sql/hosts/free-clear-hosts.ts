import { statement } from '../../core/statement.ts';

/** Frees the clear hosts of deployments whose generation is known to be in the cluster. */
export const freeClearHostsStatement = statement<{ deploymentIds: readonly string[] }>(
  'free_clear_hosts',
  `DELETE FROM leaving_hosts h USING deployments d
WHERE d.id = h.deployment_id AND d.id = ANY(:deploymentIds::uuid[]) AND h.clear
  AND greatest(d.acknowledged_generation, d.observed_generation) >= h.generation`,
);
