import { matchingRules, namesTenant, type WorkloadRule } from '../../../domain/access/workload-policy.ts';
import {
  type Rejection,
  ruleId,
  shownSubject,
  workloadName,
} from '../../../domain/access/workload-verifier.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { Reader } from '../../store/core/database.ts';
import { findTenantsOf } from '../../store/tenancy/people.ts';
import { type AccessToken, createAccessToken } from '../../store/tokens/access-tokens.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, brokenRules } from '../core/errors.ts';
import type { RateLimiter } from '../core/rate-limit.ts';
import { UNOBSERVED } from '../observe/observer.ts';
import { AUTHENTICATION } from '../tenancy/api-key-cache.ts';

/** Exchanges the token of a pipeline or a service account for an access token. */

/** Why a token is not exchanged. */
export type ExchangeRejection = Rejection | 'no_rule' | 'other_tenant' | 'no_tenant';

const RETRY_AFTER_SECONDS = 5;

const REASONS: Readonly<Record<ExchangeRejection, string>> = {
  malformed: 'is not a JSON Web Token with the claim iss',
  unknown_issuer: 'has an issuer that access.workload_issuers of the policy does not contain',
  algorithm: 'is signed with an algorithm that its issuer is not configured for',
  unknown_key: 'is signed with a key that its issuer does not publish',
  signature: 'has an invalid signature',
  audience: 'does not have the audience of this API',
  expired: 'has expired',
  not_yet_valid: 'is not valid yet: the clocks of its issuer and of this API differ by more than a minute',
  claims: 'lacks one of the claims sub, exp and iat, or one has the wrong type',
  no_rule: 'does not have the claims of any rule of its issuer',
  other_tenant: 'has the claims of rules for other tenants only',
  no_tenant: 'has the claims of a rule whose tenant does not exist',
};

/** The exchange was rejected. Each rejection counts as a failed authentication of the address. */
export class ExchangeRejected extends Error {
  readonly rejection: ExchangeRejection;
  /** Name of the issuer that signed the token; null: not known. */
  readonly issuer: string | null;
  constructor(rejection: ExchangeRejection, issuer: string | null = null) {
    super(`failed to exchange a token: ${rejection}`);
    this.rejection = rejection;
    this.issuer = issuer;
  }
}

/** 400: the token of a workload was rejected. */
export function rejectedToken(rejection: ExchangeRejection, publicUrl: string | null): ApiError {
  const audience = rejection === 'audience' ? ` (${publicUrl})` : '';
  const msg = `${REASONS[rejection]}${audience}`;
  return brokenRules([{ loc: ['subject_token'], msg, type: rejection }]);
}

const isId = (reference: string) => UUID_PATTERN.test(reference);

interface Chosen {
  readonly rule: WorkloadRule;
  readonly tenant: { readonly id: string; readonly name: string };
}

/** The first rule whose tenant exists, and is the requested one; otherwise why no rule applies. */
async function chooseRule(
  reader: Reader,
  rules: readonly WorkloadRule[],
  tenantId: string | null,
): Promise<Chosen | ExchangeRejection> {
  const references = rules.map(({ tenant }) => tenant);
  const [ids, names] = [references.filter(isId), references.filter((reference) => !isId(reference))];
  const tenants = await findTenantsOf(reader, { ids: ids.map((id) => id.toLowerCase()), names });
  const pairs = rules.flatMap((rule) => {
    const tenant = tenants.find((each) => namesTenant(rule, each));
    return tenant === undefined ? [] : [{ rule, tenant }];
  });
  if (pairs.length === 0) return 'no_tenant';
  return pairs.find(({ tenant }) => tenantId === null || tenant.id === tenantId) ?? 'other_tenant';
}

export interface Exchange {
  readonly subjectToken: string;
  /** The tenant to act for; null: that of the first rule that the token meets. */
  readonly tenantId: string | null;
}

/** A new token. It is sent once. */
export interface IssuedToken {
  readonly token: string;
  readonly accessToken: AccessToken;
}

/**
 * Verifies the token of a workload, and creates an access token for the first rule that it meets.
 * @throws ExchangeRejected; ApiError 409 when the API has no public URL, 429, 503 when the keys of the issuer cannot be read
 */
export async function exchangeToken(
  deps: ApiDeps,
  limiter: RateLimiter,
  { subjectToken, tenantId }: Exchange,
): Promise<IssuedToken> {
  const { workloads, clock = () => new Date(), observer = UNOBSERVED } = deps;
  if (workloads == null)
    throw new ApiError(
      409,
      'This API has no public URL (BERTH_PUBLIC_URL), which tokens must have as audience.',
    );
  const now = clock();
  const { workload_issuers: issuers } = deps.access?.() ?? deps.policy.access;
  const verified = await workloads.verify(subjectToken, issuers, now);
  if (verified.kind === 'unavailable') {
    observer.exchanged('unavailable');
    throw new ApiError(503, `The keys of the issuer ${verified.issuer.name} cannot be read. Try again.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
      ofCluster: true,
    });
  }
  if (verified.kind === 'rejected') throw new ExchangeRejected(verified.reason);
  const { issuer, subject, claims } = verified;
  const rules = matchingRules(issuer, claims);
  if (rules.length === 0) throw new ExchangeRejected('no_rule', issuer.name);
  const authentication = deps.database.forPlatform(AUTHENTICATION);
  const chosen = await authentication.read((reader) => chooseRule(reader, rules, tenantId));
  if (typeof chosen === 'string') throw new ExchangeRejected(chosen, issuer.name);
  const { rule, tenant } = chosen;
  const id = ruleId(issuer, rule);
  limiter.exchange(id);
  const name = shownSubject(subject);
  const expiresAt = new Date(now.getTime() + rule.lifetime_seconds * 1000);
  return authentication.transaction((transaction) =>
    createAccessToken(
      transaction,
      { kind: 'workload', tenantId: tenant.id, personId: null, name, rule: id, roles: rule.roles, expiresAt },
      (tokenId) => ({ kind: 'workload', id: tokenId, name: workloadName(id, name) }),
    ),
  );
}
