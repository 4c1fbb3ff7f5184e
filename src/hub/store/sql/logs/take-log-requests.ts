import { deployments, logRequests } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

/** Hands out requests for logs and objects that the listener can serve. Locked rows are skipped. */
export const takeLogRequestsStatement = statement<
  {
    listenerId: string;
    /** Features that the listener supports. */
    knows: readonly string[];
  },
  Columns<typeof logRequests, 'id' | 'kind' | 'tenantId' | 'deploymentId' | 'query' | 'httpRequestId'> &
    Columns<typeof deployments, 'namespace' | 'appName'>
>(
  'take_log_requests',
  `WITH wanted AS (
  SELECT id FROM log_requests
  WHERE listener_id = :listenerId AND (NOT taken OR needs = ANY(:knows) OR awaits_listener AND 'objects' = ANY(:knows))
    AND expires_at > now() ORDER BY id LIMIT 20
  FOR UPDATE SKIP LOCKED
), taken AS (
  UPDATE log_requests r SET taken = true, needs = NULL, awaits_listener = false FROM wanted WHERE r.id = wanted.id
  RETURNING r.id, r.kind, r.tenant_id, r.deployment_id, r.query, r.http_request_id
)
SELECT ${columns(logRequests, 'taken', ['id', 'kind', 'tenantId', 'deploymentId', 'query', 'httpRequestId'])},
  ${columns(deployments, 'd', ['namespace', 'appName'])}
FROM taken JOIN deployments d ON d.id = taken.deployment_id`,
);
