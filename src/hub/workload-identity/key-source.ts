import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';

/**
 * Reads the public keys of an issuer by URL, and caches them. Keys are read again every five minutes, and when a token
 * names a key that is not cached. If the issuer does not respond, cached keys are used for at most an hour.
 */

/** Times in milliseconds. */
export interface KeyTimes {
  /** Age at which keys are read again. A key that the issuer removed is trusted at most this long while the issuer responds. */
  readonly refresh: number;
  /** Age beyond which keys are not used while the issuer does not respond. */
  readonly maxAge: number;
  /** Minimum time between two reads because of unknown keys, so that forged tokens cause few calls. */
  readonly unknownKey: number;
  /** Time after a failed read during which no other read begins. */
  readonly retry: number;
}

export const KEY_TIMES: KeyTimes = {
  refresh: 300_000,
  maxAge: 3_600_000,
  unknownKey: 30_000,
  retry: 5_000,
};

const TIMEOUT_MS = 5_000;

/** The keys cannot be read. The message has no text of the issuer. */
export class KeysUnavailable extends Error {}

/** Reads the document at the URL. @throws when there is no response with the status 200 */
export type ReadKeys = (url: URL, signal: AbortSignal) => Promise<Buffer>;

function parsed(body: Buffer): Response {
  try {
    return Response.json(JSON.parse(body.toString()));
  } catch {
    throw new KeysUnavailable('failed to read the keys: the response is not JSON');
  }
}

/** The keys at a URL, as jose requests them for a token. */
export function createKeySource(url: string, readKeys: ReadKeys, times: KeyTimes): JWTVerifyGetKey {
  const clock = performance.now.bind(performance);
  let failedAt = Number.NEGATIVE_INFINITY;
  let readAt = Number.NEGATIVE_INFINITY;
  const read = async (signal: AbortSignal): Promise<Response> => {
    if (clock() - failedAt < times.retry) throw new KeysUnavailable('failed to read the keys a moment ago');
    try {
      const response = parsed(await readKeys(new URL(url), signal));
      readAt = clock();
      return response;
    } catch (error) {
      failedAt = clock();
      throw error instanceof KeysUnavailable ? error : new KeysUnavailable(String(error));
    }
  };
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: times.unknownKey,
    cacheMaxAge: times.maxAge,
    [customFetch]: (_url, { signal }) => read(signal),
  });
  return async (header, token) => {
    // If this read fails, the cached keys are used until they are too old.
    if (keys.fresh && clock() - readAt >= times.refresh) await keys.reload().catch(() => undefined);
    return keys(header, token);
  };
}
