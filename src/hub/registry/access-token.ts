import { randomUUID, sign } from 'node:crypto';
import type { SigningKey } from './signing-key.ts';

/** Tokens that the registry checks (https://distribution.github.io/distribution/spec/auth/jwt/). */

/** What may be done with one thing of the registry. */
export interface Access {
  readonly type: string;
  readonly name: string;
  readonly actions: readonly string[];
}

export interface Claims {
  readonly issuer: string;
  /** The registry that it is for. */
  readonly audience: string;
  /** Stands in the registry's log. */
  readonly subject: string;
  readonly access: readonly Access[];
  readonly issuedAt: Date;
  readonly lifeSeconds: number;
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A signed JWT (ES256, RFC 7518: the signature is r and s, no DER). */
export function signAccessToken({ privateKey, jwk }: SigningKey, claims: Claims): string {
  const now = Math.floor(claims.issuedAt.getTime() / 1000);
  const header = encoded({ typ: 'JWT', alg: 'ES256', kid: jwk.kid });
  const payload = encoded({
    iss: claims.issuer,
    sub: claims.subject,
    aud: claims.audience,
    iat: now,
    nbf: now,
    exp: now + claims.lifeSeconds,
    jti: randomUUID(),
    access: claims.access,
  });
  const text = `${header}.${payload}`;
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

/** `type:name:action,action`; the name may hold a colon. What has another form asks for nothing. */
function parseScope(scope: string): Access | null {
  const [, type, name, actions] = /^([^:]+):(.+):([^:]*)$/.exec(scope) ?? [];
  if (type === undefined || name === undefined || actions === undefined) return null;
  return { type, name, actions: actions.split(',') };
}

/**
 * Of what is asked for, what a credential gives: actions on its one repository. All else is left out without a word, as
 * the protocol wants: the registry then refuses.
 * @param scopes as asked, each one or more separated by spaces
 * @param allowed path of the repository and the actions
 */
export function grantedAccess(
  scopes: readonly string[],
  allowed: { readonly path: string; readonly actions: readonly string[] },
): Access[] {
  const asked = scopes
    .flatMap((scope) => scope.split(' '))
    .map(parseScope)
    .filter((access) => access?.type === 'repository' && access.name === allowed.path)
    .flatMap((access) => access?.actions ?? []);
  const actions = allowed.actions.filter((action) => asked.includes(action));
  return actions.length === 0 ? [] : [{ type: 'repository', name: allowed.path, actions }];
}
