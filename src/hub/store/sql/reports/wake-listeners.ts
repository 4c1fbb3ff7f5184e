import { statement } from '../../core/statement.ts';
import { WORK_CHANNEL } from '../../deployments/deployment-write.ts';

/** Notifies the listeners of these deployments that they have new work. */
export const wakeListenersStatement = statement<{ deploymentIds: readonly string[] }>(
  'wake_listeners',
  `SELECT pg_notify('${WORK_CHANNEL}', listener_id::text) FROM deployments WHERE id = ANY(:deploymentIds::uuid[])
GROUP BY listener_id`,
);
