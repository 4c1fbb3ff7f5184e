import {
  createLocalJWKSet,
  decodeJwt,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import type { WorkloadIssuer } from '../../domain/access/workload-policy.ts';
import type { Rejection, Verification, WorkloadVerifier } from '../../domain/access/workload-verifier.ts';
import { createKeySource, KEY_TIMES, KeysUnavailable, type KeyTimes, type ReadKeys } from './key-source.ts';

/** Verifies tokens of workloads with jose: signature with a pinned algorithm, issuer, audience and times. */

/** Maximum difference of the clocks of issuer and API, in seconds. */
const CLOCK_SKEW_SECONDS = 60;
/** Maximum age of a token in seconds, even if it expires later. Pipelines request a token for each run. */
const MAX_AGE_SECONDS = 86_400;
const MAX_TOKEN_LENGTH = 16_384;

const CLAIM_REJECTIONS: Readonly<Record<string, Rejection>> = { aud: 'audience', nbf: 'not_yet_valid' };

/** jose reports a time of issue in the future with the claim iat. */
function rejectionOfClaim({ claim, reason }: errors.JWTClaimValidationFailed): Rejection {
  if (claim === 'iat' && reason === 'check_failed') return 'not_yet_valid';
  return CLAIM_REJECTIONS[claim] ?? 'claims';
}

/** Errors of the keys, not of the token. */
const UNAVAILABLE = [KeysUnavailable, errors.JWKSInvalid, errors.JWKSTimeout] as const;

/** The rejection of an error of jose. */
export function rejectionOf(error: unknown): Rejection {
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) return rejectionOfClaim(error);
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'unknown_key';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return 'malformed';
  // JOSEAlgNotAllowed, JOSENotSupported, and a TypeError for a key that is too short for the algorithm.
  return 'algorithm';
}

/** The claim `iss` of a token that is not verified yet; null: the text is not a JWT, or has no such claim. */
function namedIssuer(token: string): string | null {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  try {
    return decodeJwt(token).iss ?? null;
  } catch {
    return null;
  }
}

const OTHER_KEY: ReadonlySet<Rejection> = new Set(['unknown_key', 'signature', 'algorithm']);

/** Whether another issuer with the same claim `iss` may have signed the token. */
const mayBeOfOther = (verification: Verification): boolean =>
  verification.kind === 'unavailable' ||
  (verification.kind === 'rejected' && OTHER_KEY.has(verification.reason));

/** @param audience BERTH_PUBLIC_URL, which tokens must have as an audience */
export function createWorkloadVerifier(
  audience: string,
  readKeys: ReadKeys,
  times: KeyTimes = KEY_TIMES,
): WorkloadVerifier {
  /** By URL, so that a reload of the policy keeps the keys. */
  const remote = new Map<string, JWTVerifyGetKey>();
  const inline = new WeakMap<WorkloadIssuer, JWTVerifyGetKey>();

  function keysOf(issuer: WorkloadIssuer): JWTVerifyGetKey {
    const { jwks_url: url, jwks } = issuer;
    if (url === undefined) {
      const keys = inline.get(issuer) ?? createLocalJWKSet(jwks as JSONWebKeySet);
      inline.set(issuer, keys);
      return keys;
    }
    const keys = remote.get(url) ?? createKeySource(url, readKeys, times);
    remote.set(url, keys);
    return keys;
  }

  async function verifyFor(issuer: WorkloadIssuer, token: string, now: Date): Promise<Verification> {
    try {
      const { payload } = await jwtVerify(token, keysOf(issuer), {
        algorithms: [...issuer.algorithms],
        issuer: issuer.issuer,
        audience,
        currentDate: now,
        clockTolerance: CLOCK_SKEW_SECONDS,
        maxTokenAge: MAX_AGE_SECONDS,
        requiredClaims: ['sub', 'exp'],
      });
      const { sub } = payload;
      if (typeof sub !== 'string' || sub === '') return { kind: 'rejected', reason: 'claims' };
      return { kind: 'verified', issuer, subject: sub, claims: payload };
    } catch (error) {
      if (UNAVAILABLE.some((kind) => error instanceof kind)) return { kind: 'unavailable', issuer };
      return { kind: 'rejected', reason: rejectionOf(error) };
    }
  }

  return {
    async verify(token, issuers, now) {
      const named = namedIssuer(token);
      if (named === null) return { kind: 'rejected', reason: 'malformed' };
      let result: Verification = { kind: 'rejected', reason: 'unknown_issuer' };
      for (const issuer of issuers.filter((each) => each.issuer === named)) {
        const verification = await verifyFor(issuer, token, now);
        if (!mayBeOfOther(verification)) return verification;
        // An issuer whose keys cannot be read may be the one that signed the token.
        if (result.kind !== 'unavailable') result = verification;
      }
      return result;
    },
  };
}
