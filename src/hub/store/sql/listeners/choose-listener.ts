import { listeners } from '../../core/schema.ts';
import { type Columns, columns, statement } from '../../core/statement.ts';

const CHOOSE = `SELECT ${columns(listeners, 'l', ['id', 'computeConfig', 'rendering'])} FROM listeners l
WHERE l.id = :listenerId`;

interface Choice {
  tenantId: string;
  listenerId: string;
}
type Chosen = Columns<typeof listeners, 'id' | 'computeConfig' | 'rendering'>;

/** The listener of a new deployment. Each POST runs this statement. */
export const chooseListenerStatement = statement<Choice, Chosen>(
  'choose_listener',
  `${CHOOSE} AND (l.tenant_id = :tenantId OR l.tenant_id IS NULL)`,
);

/**
 * The tenant's own listener of a new deployment, locked. KEY SHARE does not block renewals of the lease. A tenant can
 * neither lock nor change a listener of the platform.
 */
export const chooseOwnListenerStatement = statement<Choice, Chosen>(
  'choose_own_listener',
  `${CHOOSE} AND l.tenant_id = :tenantId FOR KEY SHARE`,
);
