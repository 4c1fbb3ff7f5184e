import type { Secret } from '../../../domain/deployment/deployment.ts';
import type { PatchBody } from '../../../domain/deployment/deployment-bodies.ts';
import { SECRET_MASK } from '../../../domain/redaction/secret-list.ts';
import { SecretBoxError } from '../../store/core/errors.ts';
import type { DeploymentRecord } from '../../store/core/records.ts';
import { openSecrets, type SecretBox } from '../../store/secrets/secret-box.ts';

/** Reads the secrets of a record. A secret that cannot be decrypted affects only its own deployment. */

/** The stored secrets; null when they cannot be decrypted. */
export function readableSecrets(
  box: SecretBox,
  { secrets }: Pick<DeploymentRecord, 'secrets'>,
): Secret[] | null {
  try {
    return openSecrets(box, secrets);
  } catch (error) {
    if (error instanceof SecretBoxError) return null;
    throw error;
  }
}

/**
 * Whether the body contains the whole list with values, so that no stored value is needed. An empty list does not
 * count, because it may be a response that the client sent back.
 */
function givesAllSecrets({ secrets }: PatchBody): boolean {
  return secrets != null && secrets.length > 0 && secrets.every(({ value }) => value !== SECRET_MASK);
}

/**
 * The stored secrets for a PATCH. Empty when the stored secrets cannot be decrypted and the PATCH replaces all of them.
 * @throws SecretBoxError when the stored secrets cannot be decrypted and the PATCH would keep any of them
 */
export function secretsBeforePatch(box: SecretBox, record: DeploymentRecord, body: PatchBody): Secret[] {
  if (!givesAllSecrets(body)) return openSecrets(box, record.secrets);
  return readableSecrets(box, record) ?? [];
}
