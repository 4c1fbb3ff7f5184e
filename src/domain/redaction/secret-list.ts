import type { BodyIssue } from '../core/body-issue.ts';
import type { Secret } from '../deployment/deployment.ts';

/**
 * The mask that replaces the value of a secret. If a client sends the mask back for an existing name, the stored value
 * is kept.
 */
export const SECRET_MASK = '**********';

/** The list with every value masked. */
export function maskSecrets(secrets: readonly Secret[]): Secret[] {
  return secrets.map(({ name }) => ({ name, value: SECRET_MASK }));
}

/** Replaces masks in a sent list by the stored values. A mask for an unknown name is an issue. */
export function unmaskSecrets(
  stored: readonly Secret[],
  sent: readonly Secret[],
): { secrets: Secret[]; issues: BodyIssue[] } {
  const values = new Map(stored.map(({ name, value }) => [name, value]));
  const issues: BodyIssue[] = [];
  const secrets = sent.map(({ name, value }, index) => {
    if (value !== SECRET_MASK) return { name, value };
    const kept = values.get(name);
    if (kept === undefined) {
      issues.push({
        loc: ['secrets', index, 'value'],
        msg: 'is the mask, but no secret of this name is stored: send the value of the secret',
        type: 'masked_secret_unknown',
      });
    }
    return { name, value: kept ?? value };
  });
  return { secrets, issues };
}
