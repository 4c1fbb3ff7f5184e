import { withoutCredentials } from '../../../domain/redaction/credential-text.ts';
import { masking } from '../../store/core/masking.ts';
import type { SealedSecrets } from '../../store/core/records.ts';
import { allSecrets, secretIds } from '../../store/listeners/log-requests.ts';
import type { SecretBox } from '../../store/secrets/secret-box.ts';
import type { MaskNow } from './workload-logs.ts';

/** Masks log lines for keys without `secrets:read`. */

/** Leaves lines unchanged. */
export const unmasked: MaskNow = async () => (text) => text;

/**
 * Masks the values of all secrets of a deployment: the current secrets, and the secrets of earlier calls. Each set of
 * secrets is decrypted only once.
 */
export function maskOf(box: SecretBox, tenantId: string, deploymentId: string): MaskNow {
  const sets = new Map<string, SealedSecrets>();
  let mask: ((text: string) => string) | undefined;
  return async (reader) => {
    const ids = await secretIds(reader, tenantId, deploymentId);
    if (mask !== undefined && ids.every((id) => sets.has(id))) return mask;
    for (const set of await allSecrets(reader, tenantId, deploymentId)) sets.set(set.id, set);
    const known = masking(box, [...sets.values()]);
    mask = (text) => withoutCredentials(known(text));
    return mask;
  };
}
