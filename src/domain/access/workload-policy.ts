import { z } from 'zod';
import { UUID_PATTERN } from '../core/id.ts';
import { line } from '../kubernetes/text.ts';
import { keySetUrlSchema } from '../net/https-url.ts';
import { publicKeySetSchema, SIGNATURE_ALGORITHMS } from './public-keys.ts';
import { TENANT_ROLES } from './roles.ts';

/** Workload identity in the section `access` of the policy file: trusted issuers, and the rules that give their tokens a tenant and a role. */

/**
 * Claims that identify one repository, pipeline or service account. Other claims, such as an owner or a branch, occur in
 * tokens of repositories that belong to others.
 */
export const IDENTIFYING_CLAIMS = [
  'sub',
  // GitHub
  'repository_id',
  // GitLab
  'project_id',
  // Buildkite
  'pipeline_id',
  'oidc.circleci.com/project-id',
] as const;

/** Claims that every token is checked for, so rules cannot name them. */
const ALWAYS_CHECKED: ReadonlySet<string> = new Set(['iss', 'aud', 'exp', 'nbf', 'iat']);

/** Maximum lifetime of a token of a workload, in seconds. */
export const MAX_WORKLOAD_SECONDS = 900;
const MIN_WORKLOAD_SECONDS = 60;
const MAX_CLAIM = 1024;
const MAX_RULES = 1000;
const MAX_ISSUERS = 100;

const nameSchema = z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/, {
  error: 'must consist of at most 63 letters, digits, dots, dashes and underscores',
});

/** YAML reads an id without quotes as a number, whereas most issuers send strings. Both have one text. */
const claimValueSchema = z
  .union([line(MAX_CLAIM).min(1), z.int(), z.boolean()])
  .transform(String)
  .refine((value) => !value.includes('*'), 'must not contain *, because claims are compared exactly');

const claimsSchema = z
  .record(line(256).min(1), claimValueSchema)
  .superRefine((claims, ctx) => {
    const names = Object.keys(claims);
    const checked = names.find((name) => ALWAYS_CHECKED.has(name));
    if (checked !== undefined)
      ctx.addIssue({ code: 'custom', message: `must not contain ${checked}, which is always checked` });
    if (!IDENTIFYING_CLAIMS.some((name) => Object.hasOwn(claims, name)))
      ctx.addIssue({
        code: 'custom',
        message: `must contain at least one of ${IDENTIFYING_CLAIMS.join(', ')}, because tokens of others can have all other claims`,
      });
  })
  .describe(
    'Claims that a token must have, with these exact values. At least one claim must identify a repository, a pipeline or a service account.',
  );

const ruleSchema = z.strictObject({
  name: nameSchema.describe('Name of the rule in events, unique within the issuer.'),
  claims: claimsSchema,
  tenant: line(512).min(1).describe('Name or id of the tenant that the tokens act for.'),
  roles: z.array(z.enum(TENANT_ROLES)).min(1).describe('Roles of the tokens in the tenant.'),
  lifetime_seconds: z
    .int()
    .min(MIN_WORKLOAD_SECONDS)
    .max(MAX_WORKLOAD_SECONDS)
    .default(MAX_WORKLOAD_SECONDS)
    .describe('Lifetime of the tokens in seconds.'),
});

/** Whether a rule names a tenant, by its id or its name. */
export function namesTenant(
  { tenant }: { readonly tenant: string },
  { id, name }: { readonly id: string; readonly name: string },
): boolean {
  return UUID_PATTERN.test(tenant) ? tenant.toLowerCase() === id : tenant === name;
}

function firstTwice(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index);
}

const issuerSchema = z
  .strictObject({
    name: nameSchema.describe('Name of the issuer in events, unique in the file.'),
    issuer: line(512).min(1).describe('Issuer of the tokens, exactly as in the claim iss.'),
    jwks_url: keySetUrlSchema
      .optional()
      .describe('URL of the public keys, on a public host. Not together with jwks.'),
    jwks: publicKeySetSchema
      .optional()
      .describe('The public keys, for an issuer that the API cannot reach. Not together with jwks_url.'),
    algorithms: z
      .array(z.enum(SIGNATURE_ALGORITHMS))
      .min(1)
      .default(['RS256'])
      .describe('Algorithms that tokens may be signed with.'),
    rules: z.array(ruleSchema).max(MAX_RULES).describe('Which tokens act for which tenant.'),
  })
  .superRefine(({ jwks_url: url, jwks, rules }, ctx) => {
    if ((url === undefined) === (jwks === undefined))
      ctx.addIssue({ code: 'custom', path: ['jwks_url'], message: 'set either jwks_url or jwks' });
    const twice = firstTwice(rules.map(({ name }) => name));
    if (twice !== undefined)
      ctx.addIssue({ code: 'custom', path: ['rules'], message: `must not contain the name ${twice} twice` });
  });

/** The entry `access.workload_issuers` of the policy file. */
export const workloadIssuersSchema = z
  .array(issuerSchema)
  .max(MAX_ISSUERS)
  .superRefine((issuers, ctx) => {
    const twice = firstTwice(issuers.map(({ name }) => name));
    if (twice !== undefined)
      ctx.addIssue({ code: 'custom', message: `must not contain the name ${twice} twice` });
  })
  .describe(
    'Issuers of pipelines and service accounts whose tokens are exchanged. Several issuers can have the same claim iss.',
  );

export type WorkloadIssuer = z.infer<typeof issuerSchema>;
export type WorkloadRule = WorkloadIssuer['rules'][number];

/** Claims of a verified token. */
export type Claims = Readonly<Record<string, unknown>>;

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** Whether a claim has this text. A list or an object has none. */
function hasClaim(claims: Claims, name: string, wanted: string): boolean {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return isScalar(value) && String(value) === wanted;
}

/** The rules of an issuer that a token meets, in the order of the file. */
export function matchingRules({ rules }: Pick<WorkloadIssuer, 'rules'>, claims: Claims): WorkloadRule[] {
  return rules.filter((rule) =>
    Object.entries(rule.claims).every(([name, wanted]) => hasClaim(claims, name, wanted)),
  );
}
