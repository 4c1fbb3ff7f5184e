import { secretSets } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

const NAMES = ['id', 'tenantId', 'deploymentId', 'keyId', 'sealed'] as const;

/** The encrypted secrets of revisions. */
export const secretsOfRevisionsStatement = statement<
  { revisionIds: readonly string[] },
  Columns<typeof secretSets, (typeof NAMES)[number]>
>(
  'secrets_of_revisions',
  `SELECT DISTINCT ${columns(secretSets, 's', NAMES)}
FROM revisions r JOIN secret_sets s ON s.id = r.secrets_id WHERE r.id = ANY(:revisionIds::uuid[])`,
);
