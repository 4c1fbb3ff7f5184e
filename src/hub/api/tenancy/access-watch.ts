import type { FastifyReply, FastifyRequest } from 'fastify';
import { isExpired } from '../../../domain/core/api-key.ts';
import type { StreamEnd } from '../../../domain/core/stream-end.ts';
import { findLiveApiKey } from '../../store/tenancy/api-keys.ts';
import { type Caller, type CredentialFinders, callerOf } from '../core/auth.ts';
import { onDisconnect } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError } from '../core/errors.ts';
import type { LostRights } from '../core/line-stream.ts';
import { createWorkHints } from '../listeners/work-hints.ts';
import { sessionFinder } from '../sign-in/session-finder.ts';
import { tokenFinder } from '../tokens/token-finder.ts';
import { AUTHENTICATION, keyPrincipal } from './api-key-cache.ts';
import { admissionOf, credentialIdOf, isSession, type Principal } from './principal.ts';

/**
 * Ends long responses whose callers lose their rights: by a sign-out, the revocation of a credential, or the loss of a
 * role. Notifications make this immediate. A check at an interval finds what a notification missed.
 */

/** How often the rights of a stream are checked without a notification, in milliseconds. */
const CHECK_MS = 3_000;
/**
 * Time after the interval in which a check must succeed, in milliseconds. A database that does not respond must not keep a
 * stream open whose caller has lost its rights.
 */
const ANSWER_MS = 2_000;
/** How soon a failed check is repeated, in milliseconds. */
const RETRY_MS = 500;
/** Time for which a client can still take the last line of a stream that lost its rights, in milliseconds. */
const LAST_LINE_MS = 1_000;

/** Whether the caller of a request still has all rights with which the request was admitted. */
export type AccessCheck = (request: FastifyRequest) => Promise<boolean>;

/** Reads a principal again, past all caches. null: its credential is no longer valid. */
async function refresh(
  { database }: ApiDeps,
  { sessions, tokens }: Pick<CredentialFinders, 'sessions' | 'tokens'>,
  principal: Principal,
): Promise<Principal | null> {
  switch (principal.kind) {
    case 'api_key': {
      const { keyId } = principal;
      if (keyId === null) return principal;
      const key = await database.forPlatform(AUTHENTICATION).read((reader) => findLiveApiKey(reader, keyId));
      return key === null ? null : keyPrincipal(key);
    }
    case 'key_session':
    case 'person_session':
      return sessions.byId(principal.sessionId);
    case 'person_token':
    case 'workload':
      return tokens.byId(principal.tokenId);
  }
}

/** Whether a principal has at least the rights of a caller in the same tenant. */
export function keepsRights({ tenantId, scopes }: Caller, principal: Principal): boolean {
  const admission = admissionOf(principal, tenantId);
  // A caller that was admitted without a role has none to lose.
  if (admission.kind === 'without_roles') return scopes.length === 0;
  if (admission.kind !== 'admitted' && admission.kind !== 'lookup') return false;
  return admission.tenantId === tenantId && scopes.every((scope) => admission.scopes.includes(scope));
}

export function accessCheck(
  deps: ApiDeps,
  finders: Pick<CredentialFinders, 'sessions' | 'tokens'> = {
    sessions: sessionFinder(deps),
    tokens: tokenFinder(deps),
  },
): AccessCheck {
  const clock = deps.clock ?? (() => new Date());
  return async (request) => {
    const caller = callerOf(request);
    const principal = await refresh(deps, finders, caller.principal);
    if (principal === null || isExpired(principal.expiresAt, clock())) return false;
    return keepsRights(caller, principal);
  };
}

/** Why a stream of a caller ends, for its last line. */
function lossOf(principal: Principal): string {
  if (principal.kind === 'api_key') return 'The API key is no longer valid.';
  return `The ${isSession(principal) ? 'session' : 'access token'} has ended, or a role was lost.`;
}

const UNCHECKED: StreamEnd = {
  end: 'The rights to read could not be checked in time. Send the request again.',
  reason: 'continue',
};

/** The result of a check; null: it failed, or took longer than `ms`. */
async function checked(check: () => Promise<boolean>, ms: number): Promise<boolean | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms), null);
  });
  try {
    return await Promise.race([check().catch(() => null), late]);
  } finally {
    clearTimeout(timer);
  }
}

interface Checks {
  readonly check: () => Promise<boolean>;
  /** Waits for a notification, or for a time. */
  readonly wait: (ms: number) => Promise<unknown>;
  readonly checkMs: number;
  readonly answerMs: number;
}

/** Why a stream must end; null: it is over. */
async function waitForLoss(
  { check, wait, checkMs, answerMs }: Checks,
  over: AbortSignal,
): Promise<'denied' | 'unchecked' | null> {
  let until = performance.now() + checkMs + answerMs;
  let waitMs = checkMs;
  for (;;) {
    await wait(waitMs);
    const result = over.aborted ? null : await checked(check, until - performance.now());
    if (over.aborted) return null;
    if (result === false) return 'denied';
    const now = performance.now();
    if (result === null && now >= until) return 'unchecked';
    if (result === true) until = now + checkMs + answerMs;
    waitMs = result === true ? checkMs : Math.min(checkMs, RETRY_MS, until - now);
  }
}

export interface AccessWatch {
  /**
   * Checks the rights of a caller now, past all caches. A response that was awaited needs it before it is sent.
   * @throws ApiError 401
   */
  ensure(request: FastifyRequest): Promise<void>;
  /**
   * Checks the rights of the caller of a long response, and then watches them. The signal aborts within five seconds after the caller has lost its rights, and after
   * five seconds in which no check succeeded.
   * Shortly after that, the connection is closed, so that a client that does not read keeps no stream open.
   * @throws ApiError 401
   */
  lost(request: FastifyRequest, reply: FastifyReply): Promise<LostRights>;
}

export function createAccessWatch(
  deps: ApiDeps,
  isAllowed: AccessCheck = accessCheck(deps),
  { checkMs = CHECK_MS, answerMs = ANSWER_MS, lastLineMs = LAST_LINE_MS } = {},
): AccessWatch {
  const hints = deps.accessHints ?? createWorkHints();
  const ensure = async (request: FastifyRequest) => {
    if (!(await isAllowed(request))) throw new ApiError(401, lossOf(callerOf(request).principal));
  };
  return {
    ensure,
    async lost(request, reply) {
      await ensure(request);
      const lost = new AbortController();
      const over = new AbortController();
      const { principal } = callerOf(request);
      const id = credentialIdOf(principal);
      let end: StreamEnd = { end: lossOf(principal), reason: 'denied' };
      let closing: NodeJS.Timeout | undefined;
      // One listener for everything, because Node warns of responses with many.
      onDisconnect(reply, () => {
        over.abort();
        clearTimeout(closing);
      });
      const wait = (ms: number) => hints.wait(id, hints.ticket(id), ms, over.signal);
      const check = () => isAllowed(request);
      void waitForLoss({ check, wait, checkMs, answerMs }, over.signal).then((loss) => {
        if (loss === null) return;
        if (loss === 'unchecked') end = UNCHECKED;
        lost.abort(end);
        closing = setTimeout(() => reply.raw.destroy(), lastLineMs);
      });
      return {
        signal: lost.signal,
        get end() {
          return end;
        },
      };
    },
  };
}
