import { randomBytes } from 'node:crypto';
import { FIELD_MANAGERS, LABELS, MANAGED_BY, pullSecretName } from '../../../contract/resource/names.ts';
import { deploymentId } from '../../../workloads/labels.ts';
import { credentialsCopyName, databaseName } from '../../../workloads/names.ts';
import { databaseCredentials } from '../../../workloads/objects/database-credentials.ts';
import type { NamedSecret } from '../../../workloads/objects/secret-sentinel.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject, OwnerReference, UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { Execution } from '../act/execute.ts';
import type { Action } from '../action.ts';
import { UnmetRequirement } from '../observe/failure.ts';
import { isOurs } from '../observe/ownership.ts';
import { ensureSentinel } from './sentinel.ts';

/**
 * The only module that reads secret values. This module copies the database's password from one Secret to another, and
 * to no other place.
 */

const PASSWORD_BYTES = 24;

/**
 * Ensures that the database's credentials and their copy exist. A missing Secret of the pair is created from the other,
 * with the same password. A new password is generated only for a new volume, because running pods and existing data use
 * the old password.
 * @throws UnmetRequirement CredentialsLost if both are gone and `mayInvent` is false; Conflict for a Secret of
 * another owner
 */
export async function ensureCredentials(mayInvent: boolean, execution: Execution): Promise<NamedSecret[]> {
  const { resource, credentials } = execution;
  credentials.forget();
  const [copyName, name] = [credentialsCopyName(resource), databaseName(resource)];
  const found = await findOurs(name, execution);
  // The copy is created first, so that no password is in use without a copy.
  const isNew = found === undefined && mayInvent && credentials.isFirstTime(resource);
  const invented = isNew ? await inventCopy(copyName, execution) : undefined;
  const copy = invented?.copy ?? (await findOurs(copyName, execution));
  const password = invented?.password ?? passwordOf(copy) ?? passwordOf(found);
  if (password === undefined && !mayInvent) throw credentialsLost(execution);
  const make = (missing: string) => makeCredentials(missing, password ?? newPassword(), execution);
  const secrets = [named(copy ?? (await make(copyName))), named(found ?? (await make(name)))];
  if (invented !== undefined) credentials.note(resource, secrets);
  return secrets;
}

const newPassword = () => randomBytes(PASSWORD_BYTES).toString('base64url');

/**
 * Creates the copy with a new password. For a new deployment, the copy mostly does not exist, so it is created without
 * a read.
 * @returns undefined if a Secret of this name exists
 */
async function inventCopy(
  name: string,
  execution: Execution,
): Promise<{ copy: KubeObject; password: string } | undefined> {
  const password = newPassword();
  try {
    return { copy: await makeCredentials(name, password, execution), password };
  } catch (error) {
    if (isKubeError(error, 'already_exists')) return undefined;
    throw error;
  }
}

function makeCredentials(name: string, password: string, execution: Execution): Promise<KubeObject> {
  return execution.orphanGuard.create(databaseCredentials(execution.resource, password, name), execution);
}

const named = ({ metadata: { name, uid = '' } }: KubeObject): NamedSecret => ({ name, uid });

async function findOurs(
  name: string,
  { client, resource, signal }: Execution,
): Promise<UntypedObject | undefined> {
  const { namespace } = resource.metadata;
  const found = await client.find<UntypedObject>(RESOURCES.Secret, { namespace, name }, { signal });
  if (found === undefined || isOurs(found, resource)) return found;
  throw new UnmetRequirement(
    'Conflict',
    `Secret ${name} exists and was not created by Berth for this deployment: rename or remove it`,
  );
}

/** Sets or removes the owners of the credentials and their copy. A later reconcile restores a missing Secret. */
export async function ownCredentials(
  ownerReferences: readonly OwnerReference[],
  execution: Execution,
): Promise<void> {
  const { client, resource, signal } = execution;
  const { namespace } = resource.metadata;
  for (const name of [databaseName(resource), credentialsCopyName(resource)]) {
    const found = await findOurs(name, execution);
    if (found === undefined) continue;
    const patch = { metadata: { uid: found.metadata.uid, ownerReferences } };
    const options = { fieldManager: FIELD_MANAGERS.operator, signal };
    await client.patch(RESOURCES.Secret, { namespace, name }, patch, options);
  }
}

function passwordOf(secret: KubeObject | undefined): string | undefined {
  const encoded = ((secret as UntypedObject | undefined)?.['data'] as { password?: string } | undefined)
    ?.password;
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString();
}

function credentialsLost({ resource }: Execution): UnmetRequirement {
  const [name, copy] = [databaseName(resource), credentialsCopyName(resource)];
  const labels = `${LABELS.managedBy}=${MANAGED_BY} ${LABELS.deploymentId}=${deploymentId(resource)}`;
  return new UnmetRequirement(
    'CredentialsLost',
    `the Secrets ${name} and ${copy} are missing, and no new password is generated while the volume exists. ` +
      `Create ${copy} with the key password (the running pod of the database still has it in /run/credentials/password; ` +
      'the database also accepts a new password, and the app then needs a restart) and label it: ' +
      `kubectl label secret ${copy} ${labels}`,
  );
}

type SecretsAction = Extract<Action, { kind: 'secrets' }>;

/** Whether the action only creates a sentinel, because no credentials are needed, or they are known to exist. */
export function isSentinelOnly(
  { database, sentinelSecrets }: SecretsAction,
  { credentials, resource }: Pick<Execution, 'credentials' | 'resource'>,
): boolean {
  return !database || (sentinelSecrets.length === 0 && credentials.has(resource));
}

/**
 * Checks the Secrets, restores those of the database, and ensures a sentinel for all of them.
 * @throws UnmetRequirement EnvironmentMissing when a Secret is missing that only the listener, or the author of the
 * resource, can create again
 */
export async function checkSecrets(
  action: SecretsAction,
  execution: Execution,
): Promise<KubeObject | undefined> {
  const { database, environments, sentinelSecrets } = action;
  const { client, resource, credentials, signal } = execution;
  const { namespace } = resource.metadata;
  const made = isSentinelOnly(action, execution) ? credentials.take(resource) : undefined;
  const secrets = database ? [...(made ?? (await ensureCredentials(false, execution)))] : [];
  for (const name of environments) {
    const found = await client.find<UntypedObject>(RESOURCES.Secret, { namespace, name }, { signal });
    if (found === undefined) {
      const what =
        name === pullSecretName(resource.metadata.name)
          ? 'credentials for its image'
          : 'environment of the app';
      throw new UnmetRequirement('EnvironmentMissing', `the Secret ${name} with the ${what} is missing`);
    }
    secrets.push({ name, uid: found.metadata.uid ?? '' });
  }
  const isKnown = sentinelSecrets.some((known) =>
    secrets.every(({ uid }) => known.some((secret) => secret.uid === uid)),
  );
  if (isKnown || secrets.length === 0) return undefined;
  return await ensureSentinel(secrets, execution);
}
