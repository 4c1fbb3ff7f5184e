import { statement } from '../../core/statement.ts';

/** SQL: the parameter `observed`, a JSON text with the observed routes of deployments. */
export const OBSERVED_ROUTES =
  'jsonb_to_recordset(:observed::jsonb) AS v(id uuid, url text, generation int, hosts jsonb)';

/** Frees the hosts that no route has, according to an operator that has seen the new generation. */
export const freeUnroutedHostsStatement = statement<{ observed: string }>(
  'free_unrouted_hosts',
  `DELETE FROM leaving_hosts h USING ${OBSERVED_ROUTES}
WHERE h.deployment_id = v.id AND v.generation >= h.generation AND NOT v.hosts ? h.host`,
);
