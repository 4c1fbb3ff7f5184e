import type { Claims, WorkloadIssuer, WorkloadRule } from './workload-policy.ts';

/** Verification of tokens of workloads, which hub/workload-identity implements, and the names of workloads. */

/** Why a token is rejected. The first check that fails determines the reason. */
export type Rejection =
  | 'malformed'
  | 'unknown_issuer'
  | 'algorithm'
  | 'unknown_key'
  | 'signature'
  | 'audience'
  | 'expired'
  | 'not_yet_valid'
  | 'claims';

export type Verification =
  | {
      readonly kind: 'verified';
      readonly issuer: WorkloadIssuer;
      readonly subject: string;
      readonly claims: Claims;
    }
  | { readonly kind: 'rejected'; readonly reason: Rejection }
  /** The keys of the issuer cannot be read, so the token can be neither accepted nor rejected. */
  | { readonly kind: 'unavailable'; readonly issuer: WorkloadIssuer };

export interface WorkloadVerifier {
  /** @param issuers those of the current policy */
  verify(token: string, issuers: readonly WorkloadIssuer[], now: Date): Promise<Verification>;
}

/** Name of a rule in events and tokens. The name of an issuer contains no slash. */
export const ruleId = (issuer: Pick<WorkloadIssuer, 'name'>, rule: Pick<WorkloadRule, 'name'>): string =>
  `${issuer.name}/${rule.name}`;

const MAX_SHOWN = 256;
/** Characters that are not visible, or change the direction of the text around them. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A subject for people: one visible line. */
export function shownSubject(subject: string): string {
  const shown = subject.toWellFormed().replace(UNSEEN, '?');
  return shown.length <= MAX_SHOWN ? shown : `${shown.slice(0, MAX_SHOWN - 1).toWellFormed()}…`;
}

/** A workload as the author of changes: the rule that it met, and its subject. */
export const workloadName = (rule: string, subject: string): string => `${rule}: ${subject}`;
