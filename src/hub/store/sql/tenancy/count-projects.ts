import { statement } from '../../core/statement.ts';

/** The number of a tenant's tracing projects, at most `most`. Each creation of a deployment may need it. */
export const countProjectsStatement = statement<{ tenantId: string; most: number }, { found: number }>(
  'count_projects',
  `SELECT count(*)::int AS found FROM (SELECT 1 FROM tracing_projects WHERE tenant_id = :tenantId LIMIT :most) AS counted`,
);
