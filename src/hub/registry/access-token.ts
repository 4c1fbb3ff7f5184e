import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose/jwt/sign';
import type { SigningKey } from './signing-key.ts';

/** Access tokens, which the registry verifies (https://distribution.github.io/distribution/spec/auth/jwt/). */

/** Actions that a token allows on one resource of the registry. */
export interface Access {
  readonly type: string;
  readonly name: string;
  readonly actions: readonly string[];
}

export interface Claims {
  readonly issuer: string;
  /** The registry that accepts the token. */
  readonly audience: string;
  /** The registry writes it to its log. */
  readonly subject: string;
  readonly access: readonly Access[];
  readonly issuedAt: Date;
  readonly lifeSeconds: number;
}

/** A JWT with the signature algorithm ES256. It names the key by its thumbprint. */
export function signAccessToken({ privateKey, jwk }: SigningKey, claims: Claims): Promise<string> {
  const now = Math.floor(claims.issuedAt.getTime() / 1000);
  return new SignJWT({ access: claims.access })
    .setProtectedHeader({ typ: 'JWT', alg: jwk.alg, kid: jwk.kid })
    .setIssuer(claims.issuer)
    .setSubject(claims.subject)
    .setAudience(claims.audience)
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + claims.lifeSeconds)
    .setJti(randomUUID())
    .sign(privateKey);
}

/** Parses `type:name:action,action`; the name may contain a colon. null: the scope has another form. */
function parseScope(scope: string): Access | null {
  const [, type, name, actions] = /^([^:]+):(.+):([^:]*)$/.exec(scope) ?? [];
  if (type === undefined || name === undefined || actions === undefined) return null;
  return { type, name, actions: actions.split(',') };
}

/**
 * The requested access as far as a credential allows it: actions on its one repository. The rest is omitted without an
 * error, as the protocol requires. The registry then denies the access.
 * @param scopes as requested; each contains one or more scopes, separated by spaces
 * @param allowed path of the repository, and the allowed actions
 */
export function grantedAccess(
  scopes: readonly string[],
  allowed: { readonly path: string; readonly actions: readonly string[] },
): Access[] {
  const requested = scopes
    .flatMap((scope) => scope.split(' '))
    .map(parseScope)
    .filter((access) => access?.type === 'repository' && access.name === allowed.path)
    .flatMap((access) => access?.actions ?? []);
  const actions = allowed.actions.filter((action) => requested.includes(action));
  return actions.length === 0 ? [] : [{ type: 'repository', name: allowed.path, actions }];
}
