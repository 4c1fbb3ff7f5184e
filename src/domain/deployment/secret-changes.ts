import { z } from 'zod';
import type { BodyIssue } from '../core/body-issue.ts';
import { rejectDuplicates } from '../kubernetes/unique.ts';
import { unmaskSecrets } from '../redaction/secret-list.ts';
import type { Secret } from './deployment.ts';
import { MAX_SECRETS, secretBodySchema, secretBytesProblem } from './deployment-bodies.ts';
import { exceeds } from './secret-size.ts';

/** Single changes of the secrets of a deployment. Pure. */

/** Body of `PATCH /v2/deployments/{id}/secrets`. */
export const changeSecretsBodySchema = z
  .strictObject({
    set: z
      .array(secretBodySchema)
      .max(MAX_SECRETS)
      .superRefine((secrets, ctx) => rejectDuplicates(secrets, (secret) => secret.name, 'name', ctx))
      .nullish()
      .describe('Secrets to add, or to give another value.'),
    unset: z
      // Names that an earlier version accepted must be removable.
      .array(z.string().min(1).max(253))
      .max(MAX_SECRETS)
      .nullish()
      .describe('Names of secrets to remove. A name that is not stored has no effect.'),
  })
  .describe('Changes of single secrets. All other secrets stay as they are.');
export type ChangeSecretsBody = z.infer<typeof changeSecretsBodySchema>;

export interface MergedSecrets {
  /** The complete new list: stored secrets in their order, then new ones. */
  readonly secrets: readonly Secret[];
  readonly issues: readonly BodyIssue[];
}

function contradictions(set: readonly Secret[], removed: ReadonlySet<string>): BodyIssue[] {
  return set.flatMap(({ name }, index) =>
    removed.has(name)
      ? [{ loc: ['set', index, 'name'], msg: 'must not be in unset as well', type: 'set_and_unset' }]
      : [],
  );
}

/** A list that does not grow is accepted, so every issue is about `set`. */
function limitIssues(stored: readonly Secret[], secrets: readonly Secret[]): BodyIssue[] {
  const msg = exceeds(secrets.length, MAX_SECRETS, stored.length)
    ? `must not result in more than ${MAX_SECRETS} secrets`
    : secretBytesProblem(secrets, stored);
  return msg === null ? [] : [{ loc: ['set'], msg, type: 'too_big' }];
}

/** Applies the changes to the stored secrets. */
export function mergeSecrets(stored: readonly Secret[], body: ChangeSecretsBody): MergedSecrets {
  const unmasked = unmaskSecrets(stored, body.set ?? []);
  const removed = new Set(body.unset);
  const values = new Map(stored.map(({ name, value }) => [name, value]));
  for (const name of removed) values.delete(name);
  for (const { name, value } of unmasked.secrets) values.set(name, value);
  const secrets = [...values].map(([name, value]) => ({ name, value }));
  return {
    secrets,
    issues: [
      ...contradictions(unmasked.secrets, removed),
      ...unmasked.issues.map((issue) => ({ ...issue, loc: ['set', ...issue.loc.slice(1)] })),
      ...limitIssues(stored, secrets),
    ],
  };
}
