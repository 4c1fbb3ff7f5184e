import type { FastifyRequest } from 'fastify';
import { type Grants, hasGrants, NO_GRANTS } from '../../../domain/access/access-policy.ts';
import { isAccessToken } from '../../../domain/access/access-token.ts';
import { isSameIssuer } from '../../../domain/access/identity-provider.ts';
import {
  grantsOfPersonToken,
  grantsOfWorkload,
  type TokenGrant,
} from '../../../domain/access/token-grants.ts';
import { workloadName } from '../../../domain/access/workload-verifier.ts';
import type { Reader } from '../../store/core/database.ts';
import { type FoundToken, findToken, findTokenById, touchToken } from '../../store/tokens/access-tokens.ts';
import type { ApiDeps } from '../core/deps.ts';
import { AUTHENTICATION } from '../tenancy/api-key-cache.ts';
import { grantsOfPerson } from '../tenancy/person-grants.ts';
import type { PersonToken, Workload } from '../tenancy/principal.ts';

/**
 * Finds the callers of access tokens. Nothing is cached, so that a revocation and a change of roles act at once in every
 * process.
 */

/** The token of `Authorization: Bearer`; null: the request has none. */
export function bearerOf({ headers }: FastifyRequest): string | null {
  const [, token] = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
  return token ?? null;
}

export type TokenPrincipal = PersonToken | Workload;

export interface TokenFinder {
  /** The caller of a token; null: the token is not valid. */
  bySecret(token: string): Promise<TokenPrincipal | null>;
  /** The caller of the token with an id, as it is now; null: the token is not valid. */
  byId(id: string): Promise<TokenPrincipal | null>;
}

const grantOf = ({ tenantId, tenantName, roles }: FoundToken): TokenGrant => ({
  tenantId,
  tenantName: tenantName ?? '',
  roles,
});

/** null: the rule that gave the token is no longer in the policy, or gives other roles. */
function workloadOf(found: FoundToken, deps: ApiDeps): Workload | null {
  const { id: tokenId, name, rule, expiresAt } = found;
  const { workload_issuers: issuers } = deps.access?.() ?? deps.policy.access;
  const grants = grantsOfWorkload(grantOf(found), rule ?? '', issuers);
  if (!hasGrants(grants)) return null;
  return { kind: 'workload', tokenId, name: workloadName(rule ?? '', name), grants, expiresAt };
}

/** What the person of a token may do now. A person of an identity provider that is no longer configured has no roles. */
async function currentGrants(deps: ApiDeps, reader: Reader, { issuer, groups }: FoundToken): Promise<Grants> {
  const provider = deps.signIn?.provider;
  if (provider == null || issuer === null || groups === null) return NO_GRANTS;
  if (!isSameIssuer(provider.issuer, issuer)) return NO_GRANTS;
  return grantsOfPerson(deps, reader, { issuer, groups });
}

export function tokenFinder(deps: ApiDeps): TokenFinder {
  const scope = () => deps.database.forPlatform(AUTHENTICATION);

  async function principalOf(reader: Reader, found: FoundToken | null): Promise<TokenPrincipal | null> {
    if (found === null) return null;
    const { id: tokenId, personId, personName, expiresAt } = found;
    if (personId === null || personName === null) return workloadOf(found, deps);
    const grants = grantsOfPersonToken(grantOf(found), await currentGrants(deps, reader, found));
    return { kind: 'person_token', tokenId, person: { id: personId, name: personName }, grants, expiresAt };
  }

  return {
    async bySecret(token) {
      if (!isAccessToken(token)) return null;
      const { principal, needsTouch } = await scope().read(async (reader) => {
        const found = await findToken(reader, token);
        return { principal: await principalOf(reader, found), needsTouch: found?.needsTouch ?? false };
      });
      // If the record fails, the caller is not rejected.
      if (principal !== null && needsTouch)
        await scope()
          .transaction((transaction) => touchToken(transaction, principal.tokenId))
          .catch(() => undefined);
      return principal;
    },
    byId: (id) => scope().read(async (reader) => principalOf(reader, await findTokenById(reader, id))),
  };
}
