import { repositoryCleanings } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

/** Claims due cleanups of the platform's registry. Locked rows are skipped. */
export const claimCleaningsStatement = statement<
  { limit: number; leaseSeconds: number },
  Columns<typeof repositoryCleanings, 'deploymentId' | 'tenantId' | 'appName' | 'whole' | 'attempts'>
>(
  'claim_cleanings',
  `WITH due AS (
  SELECT deployment_id FROM repository_cleanings WHERE next_attempt_at <= now()
  ORDER BY next_attempt_at LIMIT :limit FOR UPDATE SKIP LOCKED
)
UPDATE repository_cleanings c SET attempts = c.attempts + 1,
  next_attempt_at = now() + make_interval(secs => :leaseSeconds::float8)
FROM due WHERE c.deployment_id = due.deployment_id
RETURNING ${columns(repositoryCleanings, 'c', ['deploymentId', 'tenantId', 'appName', 'whole', 'attempts'])}`,
);
