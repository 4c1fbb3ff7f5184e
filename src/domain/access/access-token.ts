import { randomBytes } from 'node:crypto';

/** Access tokens of people and workloads: `Authorization: Bearer`. Only their hash is stored. */

/** `person`: from `berth login`. `workload`: exchanged for the token of a pipeline. */
export const TOKEN_KINDS = ['person', 'workload'] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

const PREFIX = 'berth_at_';
const BYTES = 32;
/** 32 bytes are 43 characters of base64url. */
const GENERATED = /^berth_at_[A-Za-z0-9_-]{43}$/;
/** Characters of the random part that identify a token in lists. */
const SHOWN = 6;

/** A new random token with 256 bits. */
export function generateAccessToken(): string {
  return `${PREFIX}${randomBytes(BYTES).toString('base64url')}`;
}

/** Whether a text has the form of a token. Other texts need no lookup. */
export function isAccessToken(text: string): boolean {
  return GENERATED.test(text);
}

/** The first characters of a token, which identify it in lists. */
export const tokenPrefix = (token: string): string => token.slice(0, PREFIX.length + SHOWN);
