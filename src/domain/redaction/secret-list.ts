import type { BodyIssue } from '../core/body-issue.ts';
import type { Secret } from '../deployment/deployment.ts';

/** What is shown instead of the value of a secret. Sent back for an existing name, it keeps the stored value. */
export const SECRET_MASK = '**********';

/** The same list with every value masked. */
export function maskSecrets(secrets: readonly Secret[]): Secret[] {
  return secrets.map(({ name }) => ({ name, value: SECRET_MASK }));
}

/** Whether two lists give the same environment: order means nothing. */
export function sameSecrets(left: readonly Secret[], right: readonly Secret[]): boolean {
  if (left.length !== right.length) return false;
  const values = new Map(left.map(({ name, value }) => [name, value]));
  return right.every(({ name, value }) => values.get(name) === value);
}

/** A sent list with the stored values in place of masks; a mask for a name that is not stored is an issue. */
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
        msg: 'is the mask, but no secret of this name is stored: send its value',
        type: 'masked_secret_unknown',
      });
    }
    return { name, value: kept ?? value };
  });
  return { secrets, issues };
}
