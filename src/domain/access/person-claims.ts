import { isObject } from '../core/is-object.ts';
import { nameSchema } from '../core/name.ts';
import type { Identity } from './access-policy.ts';

/** What Berth takes from the ID token of a person. */

/** The claims of an ID token whose signature, issuer, audience and times were checked. */
export type Claims = Readonly<Record<string, unknown>>;

export interface PersonIdentity extends Identity {
  /** Identifies the person at the issuer, for ever. */
  readonly subject: string;
  /** How lists and the history name the person. */
  readonly name: string;
  /** Whether the issuer left the groups out, because there are too many for a token. */
  readonly hasTooManyGroups: boolean;
}

const MAX_GROUPS = 2_000;
const MAX_GROUP = 512;
const MAX_NAME = 128;

/** A claim by its name, or by the path to it: `realm_access.roles`. Names with dots take precedence. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  return path
    .split('.')
    .reduce<unknown>(
      (found, step) => (isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined),
      claims,
    );
}

/** An address that the issuer has not verified could be the address of another person. */
const isUnverified = ({ email_verified: verified }: Claims) => verified !== true && verified !== 'true';

function groupsOf(claims: Claims, groupsClaim: string): string[] {
  if (groupsClaim === 'email' && isUnverified(claims)) return [];
  const found = claimAt(claims, groupsClaim);
  const texts = [found].flat().filter((group): group is string => typeof group === 'string');
  const usable = texts.filter((group) => group !== '' && group.length <= MAX_GROUP && !group.includes('\0'));
  return [...new Set(usable)].slice(0, MAX_GROUPS);
}

/** A name that can be shown; null: the text is empty, or has characters that are not visible. */
function shownName(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const cut = [...value].slice(0, MAX_NAME).join('');
  return nameSchema.safeParse(cut).data ?? null;
}

/**
 * The person of an ID token.
 * @param groupsClaim claim with the groups: a list of texts, or one text
 */
export function identityOf(claims: Claims, groupsClaim: string): PersonIdentity {
  const { iss: issuer, sub: subject } = claims;
  if (typeof issuer !== 'string' || typeof subject !== 'string' || subject === '')
    throw new TypeError('failed to read an ID token: it has no issuer or no subject');
  const email = isUnverified(claims) ? null : claims['email'];
  const names = [email, claims['preferred_username'], claims['name'], subject].map(shownName);
  const overage = claimAt(claims, '_claim_names');
  return {
    issuer,
    subject,
    name: names.find((name) => name !== null) ?? 'unnamed person',
    groups: groupsOf(claims, groupsClaim),
    hasTooManyGroups: isObject(overage) && Object.hasOwn(overage, groupsClaim),
  };
}
