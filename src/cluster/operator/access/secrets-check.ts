import { credentialsCopyName, databaseName } from '../../../workloads/names.ts';
import { listenerSecretsOf, type NamedSecret } from '../../../workloads/objects/secret-sentinel.ts';
import { type Action, actionId, STAGES } from '../action.ts';
import { deletion } from '../decide/removals.ts';
import type { Remembered } from '../memory.ts';
import { databaseState } from '../observe/data-services.ts';
import { liveChild, type Observed } from '../observed.ts';
import { asDate, type ReconcileTime } from '../reconcile-time.ts';
import type { Target } from '../rollout/target.ts';
import { conditionOf } from '../status/conditions.ts';

/**
 * Detects deleted Secrets. Secrets are not watched. When a Secret is deleted, the garbage collector changes its
 * sentinel, which is watched. When a pod or the database does not become ready, the Secrets are also read directly.
 */

/** Pause between two checks of Secrets. */
export const SECRETS_CHECK_MS = 30_000;

/** Waiting reason of a container that refers to a missing Secret. */
const CONFIG_ERROR = 'CreateContainerConfigError';

/** When to check the Secrets next, in ms since the epoch; undefined: no sign of a missing Secret. */
export function secretsCheckDue(
  observed: Observed,
  checked: Pick<Remembered, 'secretsCheckedAt'>,
  time: ReconcileTime,
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

/** Id of the action that checks the Secrets of a resource. The action is repeated until no Secret is missing. */
export function secretsCheckId({ metadata }: Observed['resource']): string {
  return actionId('secrets', 'Secret', metadata.name);
}

/** Checks that the Secrets exist, and restores those of the database from one another. */
export function secretsCheck(observed: Observed, target: Target, reason: string): Action {
  const { resource, sentinels } = observed;
  return {
    kind: 'secrets',
    id: secretsCheckId(resource),
    reason,
    stage: STAGES.prerequisites,
    after: [],
    // While an external database is used, the password of the volume is still needed.
    database: hasVolume(observed),
    environments: listenerSecretsOf(resource, target.templates ?? {}),
    sentinelSecrets: sentinels.map(({ secrets }) => secrets),
  };
}

/** Actions that make the sentinel match the required Secrets; empty: it matches. */
export function sentinelChanges(observed: Observed, target: Target): Action[] {
  const { resource, sentinels } = observed;
  const check = secretsCheck(observed, target, 'not all Secrets are known to exist');
  if (check.kind !== 'secrets') return [];
  const database = [databaseName(resource), credentialsCopyName(resource)];
  const wanted = [...(check.database ? database : []), ...check.environments];
  if (wanted.length === 0) return [];
  const full = sentinels.find(({ secrets }) => covers(secrets, wanted));
  if (full === undefined) return [check];
  return sentinels
    .filter((sentinel) => sentinel !== full)
    .map(({ object }) => deletion(object, 'another sentinel replaced it', STAGES.removal));
}

function covers(secrets: readonly NamedSecret[], wanted: readonly string[]): boolean {
  return wanted.every((name) => secrets.some((secret) => secret.name === name));
}
