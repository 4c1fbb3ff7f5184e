import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../../domain/core/logger.ts';
import type { StreamEnd } from '../../../domain/core/stream-end.ts';
import type { Scope } from '../../store/tenancy/api-keys.ts';
import { callerOf } from './auth.ts';
import { onDisconnect } from './client-disconnect.ts';

/**
 * Ends open responses when the credential of their request ends: a revoked or expired key. One check of all open responses
 * runs every second, on every replica, so it does not depend on notifications.
 */

/** Time between two checks. With the duration of a check, a stream ends within 5 s. */
const CHECK_MS = 1_000;
/** Time without a successful check after which streams end, because a revocation could not be noticed. */
const UNCHECKED_MS = 30_000;

/** The last line of a stream whose key has ended. */
export const KEY_ENDED: StreamEnd = { end: 'The API key is no longer valid.', reason: 'denied' };
const UNCHECKED: StreamEnd = {
  end: 'The API could not check whether the API key is still valid. Send the request again.',
  reason: 'continue',
};

/** Why a signal of `OpenStreams` has ended a stream; null: it has not. */
export const endBySignal = (ended: AbortSignal): StreamEnd | null =>
  ended.aborted ? (ended.reason as StreamEnd) : null;

/** What an open response depends on. */
export interface OpenStream {
  /** Kind of the credential. Each kind has a check. */
  readonly kind: string;
  /** Id of the credential. */
  readonly id: string;
  /** The tenant whose data the response contains. null: the platform. */
  readonly tenantId: string | null;
  /** The scopes that the caller had. */
  readonly scopes: readonly Scope[];
}

/** Returns the responses whose credential no longer grants them. */
export type CredentialCheck = (open: readonly OpenStream[]) => Promise<readonly OpenStream[]>;

export interface OpenStreams {
  /**
   * Adds the response of a request until it is complete.
   * @returns aborts when the credential has ended, with the last line as reason. The response must then end at once
   */
  enter(request: FastifyRequest, reply: FastifyReply): AbortSignal;
  /** Ends responses in this process at once, for example after a sign-out. */
  end(isOver: (open: OpenStream) => boolean): void;
}

export interface OpenStreamsOptions {
  /** The checks of each kind of credential. */
  readonly checks: Readonly<Record<string, CredentialCheck>>;
  readonly logger: Logger;
  /** Time between two checks, and between the end of a stream and the end of its connection; default: 1 s. */
  readonly checkMs?: number;
}

/** The credential of a request; null: a key of this process, which does not end before it. */
function streamOf(request: FastifyRequest): OpenStream | null {
  const { keyId, tenantId, scopes } = callerOf(request);
  return keyId === null ? null : { kind: 'api_key', id: keyId, tenantId, scopes };
}

export function createOpenStreams({ checks, logger, checkMs = CHECK_MS }: OpenStreamsOptions): OpenStreams {
  const open = new Map<OpenStream, (why: StreamEnd) => void>();
  let isRunning = false;

  const over = async (): Promise<readonly OpenStream[]> => {
    const byKind = Map.groupBy(open.keys(), ({ kind }) => kind);
    const ended = await Promise.all(
      // A kind without a check cannot be trusted.
      [...byKind].map(([kind, streams]) => checks[kind]?.(streams) ?? streams),
    );
    return ended.flat();
  };

  const run = async (): Promise<void> => {
    let checkedAt = performance.now();
    while (open.size > 0) {
      await sleep(checkMs, undefined, { ref: false });
      try {
        for (const stream of await over()) open.get(stream)?.(KEY_ENDED);
        checkedAt = performance.now();
      } catch (error) {
        logger.warn(
          { err: String(error) },
          'failed to check the keys of open streams; next: none, it is retried',
        );
        if (performance.now() - checkedAt < UNCHECKED_MS) continue;
        for (const end of [...open.values()]) end(UNCHECKED);
      }
    }
  };

  const start = (): void => {
    if (isRunning) return;
    isRunning = true;
    void run().finally(() => {
      isRunning = false;
      // A stream can be added between the last check and this line.
      if (open.size > 0) start();
    });
  };

  return {
    enter(request, reply) {
      const ending = new AbortController();
      const stream = streamOf(request);
      if (stream === null) return ending.signal;
      let cut: NodeJS.Timeout | undefined;
      onDisconnect(reply, () => {
        clearTimeout(cut);
        open.delete(stream);
      });
      if (reply.raw.destroyed) return ending.signal;
      open.set(stream, (why) => {
        open.delete(stream);
        ending.abort(why);
        // The last line is sent in this time. Then the connection is closed, also if the client does not read.
        cut = setTimeout(() => reply.raw.destroy(), checkMs);
      });
      start();
      return ending.signal;
    },
    end(isOver) {
      for (const [stream, end] of [...open]) if (isOver(stream)) end(KEY_ENDED);
    },
  };
}
