import type { Claims } from './person-claims.ts';

/** The port to an identity provider (OpenID Connect). `hub/identity` implements it. */

/** The values that bind an answer of the identity provider to one sign-in. */
export interface SignInProof {
  readonly state: string;
  readonly nonce: string;
  /** Code verifier of PKCE. */
  readonly verifier: string;
}

/**
 * Why a sign-in failed at the identity provider.
 * - unreachable: it did not answer, or with an error. Another attempt may succeed.
 * - declined: it did not sign the person in, for example because the person cancelled.
 * - stale: it does not accept the code, for example because the code was used before.
 * - invalid: its answer or its token does not pass the checks.
 */
export type SignInFailure = 'unreachable' | 'declined' | 'stale' | 'invalid';

/** A failed sign-in. The message is for logs. It contains no token and no code. */
export class SignInError extends Error {
  readonly failure: SignInFailure;
  constructor(failure: SignInFailure, message: string) {
    super(message);
    this.name = 'SignInError';
    this.failure = failure;
  }
}

const hrefOf = (issuer: string) => (URL.canParse(issuer) ? new URL(issuer).href : issuer);

/** Whether two texts name the same issuer. A slash after the host makes no difference. */
export const isSameIssuer = (left: string, right: string): boolean => hrefOf(left) === hrefOf(right);

export interface IdentityProvider {
  readonly issuer: string;
  /**
   * The address to which the browser goes to sign in.
   * @throws SignInError
   */
  authorizationUrl(proof: SignInProof): Promise<string>;
  /**
   * Exchanges the code of an answer for the claims of the person. All checks of OpenID Connect were made.
   * @param query of the request with which the browser returned, without `?`
   * @throws SignInError
   */
  redeem(query: string, proof: SignInProof): Promise<Claims>;
}
