import { WORK_CHANNEL } from '../../core/channels.ts';
import { statement } from '../../core/statement.ts';

/** Notifies the listeners of these deployments that they have new work. */
export const wakeListenersStatement = statement<{ deploymentIds: readonly string[] }>(
  'wake_listeners',
  `SELECT pg_notify('${WORK_CHANNEL}', listener_id::text) FROM deployments WHERE id = ANY(:deploymentIds::uuid[])
GROUP BY listener_id`,
);
