import type { listeners } from '../../core/schema.ts';
import { type Columns, statement } from '../../core/statement.ts';

/** The owner of a listener. Each call of a listener begins with this statement. */
export const listenerOwnerStatement = statement<
  { listenerId: string },
  Columns<typeof listeners, 'tenantId'>
>('listener_owner', 'SELECT tenant_id AS "tenantId" FROM listeners WHERE id = :listenerId');
