import { randomBytes, randomInt } from 'node:crypto';

/** The device grant (RFC 8628) of `berth login`: codes, times, and the answer to a poll. */

/** Time in seconds within which a person must confirm a login. */
export const DEVICE_LOGIN_SECONDS = 600;
/** Seconds between two polls. */
export const POLL_SECONDS = 5;
/** Seconds that are added to the interval after each poll that comes too early. */
const SLOW_DOWN_SECONDS = 5;
const MAX_POLL_SECONDS = 60;
/** Polls may come this much earlier, in milliseconds, because requests take different times. */
const POLL_TOLERANCE_MS = 500;
/** Longest lifetime of the token of a person, in seconds. */
const PERSON_TOKEN_SECONDS = 43_200;

/**
 * Expiry of the token of a person: until then, the groups of the last sign-in count for it. So the identity provider must state them
 * again for a later token.
 * @param maxSeconds time after which a session of the person ends, even if it is in use
 * @returns null: the sign-in was too long ago
 */
export function personTokenEnd(now: Date, signedInAt: Date, maxSeconds: number): Date | null {
  const end = Math.min(now.getTime() + PERSON_TOKEN_SECONDS * 1000, signedInAt.getTime() + maxSeconds * 1000);
  return end > now.getTime() ? new Date(end) : null;
}

const DEVICE_CODE_BYTES = 32;
const DEVICE_CODE = /^[A-Za-z0-9_-]{43}$/;

/** Consonants, so that a code is no word, and has no letter that can be mistaken for a digit. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;
const HALF = CODE_LENGTH / 2;
const USER_CODE = new RegExp(`^[${LETTERS}]{${CODE_LENGTH}}$`);

/** A secret of the device with 256 bits. */
export const newDeviceCode = (): string => randomBytes(DEVICE_CODE_BYTES).toString('base64url');

/** Whether a text can be a device code. Other texts need no lookup. */
export const isDeviceCode = (text: string): boolean => DEVICE_CODE.test(text);

/** A code that a person types, such as `WDJB-MJHT`: one of 2.5e10. */
export function newUserCode(): string {
  const letters = Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return `${letters.slice(0, HALF)}-${letters.slice(HALF)}`;
}

/** A code as it is stored, from what a person typed; null: it cannot be a code. */
export function parseUserCode(typed: string): string | null {
  const letters = typed.toUpperCase().replace(/[\s-]/g, '');
  return USER_CODE.test(letters) ? `${letters.slice(0, HALF)}-${letters.slice(HALF)}` : null;
}

/** `pending`: no person has decided. `used`: the device has received its token. */
export type DeviceState = 'pending' | 'approved' | 'denied' | 'used';

/** A login as a poll finds it. */
export interface DeviceLogin {
  readonly state: DeviceState;
  readonly expiresAt: Date;
  /** Current interval of polls, in seconds. */
  readonly pollSeconds: number;
  /** null: not polled yet. */
  readonly polledAt: Date | null;
}

/**
 * The answer to a poll.
 * - granted: the device receives its token.
 * - replayed: the device code was used before, so someone else may have it.
 * - the others are errors of RFC 8628.
 */
export type PollAnswer =
  | { readonly kind: 'granted' }
  | { readonly kind: 'replayed' | 'expired_token' | 'access_denied' | 'authorization_pending' }
  | { readonly kind: 'slow_down'; readonly pollSeconds: number };

/** Decides a poll. The first rule that matches applies. */
export function answerPoll({ state, expiresAt, pollSeconds, polledAt }: DeviceLogin, now: Date): PollAnswer {
  if (state === 'used') return { kind: 'replayed' };
  if (expiresAt.getTime() <= now.getTime()) return { kind: 'expired_token' };
  if (state === 'denied') return { kind: 'access_denied' };
  if (state === 'approved') return { kind: 'granted' };
  const earliest = polledAt === null ? 0 : polledAt.getTime() + pollSeconds * 1000 - POLL_TOLERANCE_MS;
  if (now.getTime() >= earliest) return { kind: 'authorization_pending' };
  return { kind: 'slow_down', pollSeconds: Math.min(MAX_POLL_SECONDS, pollSeconds + SLOW_DOWN_SECONDS) };
}
