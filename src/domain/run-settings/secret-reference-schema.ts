import { z } from 'zod';
import { dnsSubdomainSchema } from '../kubernetes/names.ts';
import { byteLength } from '../kubernetes/text.ts';
import { rejectDuplicates } from '../kubernetes/unique.ts';
import type { SecretReference } from './run-settings.ts';
import { variableNameSchema } from './variable-schema.ts';

/** References to Secrets in requests and responses: the field `secret_references` beside `secrets`. */

/** Maximum number of references of a deployment. */
export const MAX_SECRET_REFERENCES = 100;
/**
 * Maximum size of all references together, as JSON of a request. A ControllerRevision contains them five times, beside the
 * variables and four times MAX_SPEC_BYTES (spec-rules.ts). etcd accepts 1.5 MiB per object.
 */
export const MAX_SECRET_REFERENCES_BYTES = 8 * 1024;

const MAX_KEY = 253;
/** Keys that the API server accepts in the data of a Secret. */
const SECRET_KEY = /^[-._a-zA-Z0-9]+$/;
const IMPOSSIBLE_KEY = /^(\.|\.\..*)$/;

/** A key of a Secret. */
export const secretKeySchema = z
  .string()
  .min(1)
  .max(MAX_KEY)
  .regex(SECRET_KEY, "must be a key of a Secret: letters, digits, '_', '-' and '.'")
  .refine((key) => !IMPOSSIBLE_KEY.test(key), "must not be '.' or begin with '..'");

/** The name of a Secret. */
export const secretNameSchema = dnsSubdomainSchema;

/** A reference in requests. */
export const secretReferenceBodySchema = z
  .strictObject({
    name: variableNameSchema.describe(
      'Name of the environment variable. No secret and no variable of env can have the same name.',
    ),
    secret_name: secretNameSchema.describe('Name of a Secret in the namespace of the deployment.'),
    secret_key: secretKeySchema.describe('Key in the data of the Secret.'),
  })
  .describe('An environment variable of the app container whose value is in a Secret of the cluster.')
  .meta({ examples: [{ name: 'STRIPE_KEY', secret_name: 'payments', secret_key: 'api-key' }] });
export type SecretReferenceBody = z.infer<typeof secretReferenceBodySchema>;

/** The references of a request. */
export const secretReferencesBodySchema = z
  .array(secretReferenceBodySchema)
  .max(MAX_SECRET_REFERENCES)
  .superRefine((references, ctx) => rejectDuplicates(references, ({ name }) => name, 'name', ctx))
  .superRefine((references, ctx) => {
    const size = byteLength(JSON.stringify(references));
    if (size <= MAX_SECRET_REFERENCES_BYTES) return;
    const message = `must not be larger than ${MAX_SECRET_REFERENCES_BYTES} bytes as JSON, but has ${size} bytes`;
    ctx.addIssue({ code: 'custom', message });
  })
  .describe(
    'The complete list of references to Secrets that exist in the namespace of the deployment. Each becomes an environment variable of the app container. Pods read the values, and the values never reach this API. A change of a value replaces the pods once.',
  );

/** The references of a request as they are stored. null: clear the list. */
export function toSecretReferences(
  sent: readonly SecretReferenceBody[] | null | undefined,
): SecretReference[] | null | undefined {
  if (sent == null) return sent;
  return sent.map(({ name, secret_name, secret_key }) => ({
    name,
    secretName: secret_name,
    secretKey: secret_key,
  }));
}

/** Stored references as in requests and responses. */
export function fromSecretReferences(references: readonly SecretReference[]): SecretReferenceBody[] {
  return references.map(({ name, secretName, secretKey }) => ({
    name,
    secret_name: secretName,
    secret_key: secretKey,
  }));
}
