import { fullHash } from '../core/hash.ts';

/**
 * How a tenant proves that a host belongs to it: a TXT record below the host, with a value that only the tenant needs. TXT
 * records are public, so their value alone proves nothing. It is a hash of the token of the tenant and of the namespace of the
 * custom resource, which a copied value does not match in another namespace.
 */

/** Label of the TXT record, below the host. */
export const CHALLENGE_LABEL = '_berth-challenge';

/** Maximum length of the token of a tenant. */
export const MAX_DOMAIN_TOKEN = 128;

/** Name of the TXT record of a host. */
export const challengeName = (host: string): string => `${CHALLENGE_LABEL}.${host}`;

/**
 * Value of the TXT record of each host of a tenant.
 * @param token token of the tenant, which the hub generates and stores; undefined: a custom resource applied by hand
 */
export function challengeValue(namespace: string, token: string | undefined): string {
  return `berth-${fullHash(['domain', namespace, token ?? ''])}`;
}

/** A TXT record that a tenant has to create. */
export interface Challenge {
  readonly name: string;
  readonly value: string;
}

/** The TXT record for a host. */
export const challengeOf = (host: string, namespace: string, token: string | undefined): Challenge => ({
  name: challengeName(host),
  value: challengeValue(namespace, token),
});
