import { databaseName } from '../workloads/names.ts';
import { type Action, actionId, STAGES } from './action.ts';
import { conditionOf } from './conditions.ts';
import { databaseState } from './data-services.ts';
import { liveChild, type Observed } from './observed.ts';

/** A database that is not ready for this long may lack its Secret, which nobody watches. */
export const CREDENTIALS_CHECK_MS = 30_000;

/** Kubernetes' word for a container that refers to a Secret which is not there. */
const CONFIG_ERROR = 'CreateContainerConfigError';

/**
 * When the credentials have to be looked at next, in ms since the epoch; undefined: they are in order, as far as can be
 * told without reading them.
 */
export function credentialsCheckDue(observed: Observed, checkedAt: number, now: number): number | undefined {
  const { resource, pods } = observed;
  const volume = liveChild(observed, 'PersistentVolumeClaim', databaseName(resource));
  if (resource.spec.suspend || resource.spec.database.external || volume === undefined) return undefined;
  const lacksConfig = pods.some(({ status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].some(
      ({ state }) => state?.waiting?.reason === CONFIG_ERROR,
    ),
  );
  if (lacksConfig) return Math.max(now, checkedAt + CREDENTIALS_CHECK_MS);
  if (databaseState(observed).ready) return undefined;
  const condition = conditionOf(resource, 'DatabaseReady');
  const unreadySince = condition?.status === 'False' ? Date.parse(condition.lastTransitionTime) : now;
  return Math.max(unreadySince, checkedAt) + CREDENTIALS_CHECK_MS;
}

/** Looks whether the credentials are there, and makes new ones if not: the database takes over their password. */
export function credentialsCheck(observed: Observed): Action {
  return {
    kind: 'credentials',
    id: actionId('credentials', 'Secret', databaseName(observed.resource)),
    reason: 'the database is not ready: its credentials may be lost',
    stage: STAGES.prerequisites,
    after: [],
    check: true,
  };
}
