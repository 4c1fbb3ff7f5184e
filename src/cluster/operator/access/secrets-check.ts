import { credentialsCopyName, databaseName } from '../../../workloads/names.ts';
import { listenerSecretsOf, type NamedSecret } from '../../../workloads/objects/secret-sentinel.ts';
import { type Action, actionId, STAGES } from '../action.ts';
import { deletion } from '../decide/removals.ts';
import type { Remembered } from '../memory.ts';
import { databaseState } from '../observe/data-services.ts';
import { liveChild, type Observed } from '../observed.ts';
import { asDate, type LookTime } from '../reconcile-time.ts';
import type { Target } from '../rollout/target.ts';
import { conditionOf } from '../status/conditions.ts';

/**
 * Secrets are not watched. Their witness tells when one goes; whatever it may have missed is looked for where a pod or
 * the database does not come up.
 */

/** Between two looks at Secrets because of something that does not come up. */
export const SECRETS_CHECK_MS = 30_000;

/** Kubernetes' word for a container that refers to a Secret which is not there. */
const CONFIG_ERROR = 'CreateContainerConfigError';

/**
 * When the Secrets have to be looked at next, in ms since the epoch; undefined: they are in order, as far as can be told
 * without reading them.
 */
export function secretsCheckDue(
  observed: Observed,
  checked: Pick<Remembered, 'secretsCheckedAt'>,
  time: LookTime,
): number | undefined {
  const { resource, pods } = observed;
  if (resource.spec.suspend) return undefined;
  const { date: now } = time;
  const checkedAt = asDate(checked.secretsCheckedAt, time);
  const lacksConfig = pods.some(({ status }) =>
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].some(
      ({ state }) => state?.waiting?.reason === CONFIG_ERROR,
    ),
  );
  if (lacksConfig) return Math.max(now, checkedAt + SECRETS_CHECK_MS);
  if (!hasVolume(observed) || databaseState(observed).ready) return undefined;
  const condition = conditionOf(resource, 'DatabaseReady');
  const unreadySince = condition?.status === 'False' ? Date.parse(condition.lastTransitionTime) : now;
  return Math.max(unreadySince, checkedAt) + SECRETS_CHECK_MS;
}

function hasVolume(observed: Observed): boolean {
  return liveChild(observed, 'PersistentVolumeClaim', databaseName(observed.resource)) !== undefined;
}

/** Id of the look at the Secrets of a resource: one that found something missing is repeated until it does not. */
export function secretsCheckId({ metadata }: Observed['resource']): string {
  return actionId('secrets', 'Secret', metadata.name);
}

/** Looks whether the Secrets are there, and makes those of the database again from one another. */
export function secretsCheck(observed: Observed, target: Target, reason: string): Action {
  const { resource, witnesses } = observed;
  return {
    kind: 'secrets',
    id: secretsCheckId(resource),
    reason,
    stage: STAGES.prerequisites,
    after: [],
    // An external database that is used meanwhile takes nothing from the volume, nor from its password.
    database: hasVolume(observed),
    environments: listenerSecretsOf(resource, target.templates ?? {}),
    witnessed: witnesses.map(({ secrets }) => secrets),
  };
}

/** What keeps the witness in step with the Secrets that are wanted; empty: it is. */
export function sentinelChanges(observed: Observed, target: Target): Action[] {
  const { resource, witnesses } = observed;
  const check = secretsCheck(observed, target, 'a Secret is not known to be there');
  if (check.kind !== 'secrets') return [];
  const database = [databaseName(resource), credentialsCopyName(resource)];
  const wanted = [...(check.database ? database : []), ...check.environments];
  if (wanted.length === 0) return [];
  const full = witnesses.find(({ secrets }) => covers(secrets, wanted));
  if (full === undefined) return [check];
  return witnesses
    .filter((witness) => witness !== full)
    .map(({ object }) => deletion(object, 'another witness took its place', STAGES.removal));
}

function covers(secrets: readonly NamedSecret[], wanted: readonly string[]): boolean {
  return wanted.every((name) => secrets.some((secret) => secret.name === name));
}
