import { statement } from '../../core/statement.ts';
import { OBSERVED_ROUTES } from './free-unrouted-hosts.ts';

/**
 * Records whether a host is clear, for operators and listeners of an earlier version, which report only the URL. The
 * host is available when the URL has another host and the generation is known to be in the cluster. A deletion is
 * acknowledged only when it is complete, so the reported URL decides whether a host is available before the deletion is
 * complete. A report of a later version overrides the result.
 */
export const recordClearHostsStatement = statement<{ observed: string }>(
  'record_clear_hosts',
  `UPDATE leaving_hosts h SET clear = v.hosts IS NULL
  AND (v.url IS NULL OR split_part(split_part(v.url, '://', 2), '/', 1) <> h.host)
FROM ${OBSERVED_ROUTES} WHERE h.deployment_id = v.id`,
);
