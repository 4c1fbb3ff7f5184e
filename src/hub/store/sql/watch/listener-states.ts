import { statement } from '../../core/statement.ts';

/** The states of the listeners of each owner, as a text that is new after each change. null: the platform. */
export const listenerStatesStatement = statement<object, { tenantId: string | null; state: string }>(
  'listener_states',
  `SELECT tenant_id AS "tenantId", md5(string_agg(concat_ws(' ', id, state_version), ',' ORDER BY id)) AS state
FROM listeners GROUP BY tenant_id`,
);
