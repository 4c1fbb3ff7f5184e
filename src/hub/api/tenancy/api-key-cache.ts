import { timingSafeEqual } from 'node:crypto';
import type { Database } from '../../store/core/database.ts';
import {
  type ApiKey,
  findApiKeyByHash,
  findKeysOfOtherForm,
  hashApiKey,
  isGeneratedKey,
  touchApiKey,
} from '../../store/tenancy/api-keys.ts';
import type { ApiDeps, InternalKey } from '../core/deps.ts';
import type { KeyPrincipal } from './principal.ts';

/** Looks up API keys of callers and caches them for a short time. */

/** Group of the database's work (`forPlatform`), so that authentication does not wait for other work. */
export const AUTHENTICATION = 'authentication';

/** Lifetime of a cached key. A revoked key works for at most this time in each process. */
const CACHE_TTL_MS = 5_000;
const MAX_CACHED_KEYS = 10_000;
/** Time for which an unknown key is not looked up again. */
const UNKNOWN_TTL_MS = 1_000;
const MAX_UNKNOWN_KEYS = 10_000;

function sameHash(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left, 'hex'), Buffer.from(right, 'hex')];
  return a.length === b.length && timingSafeEqual(a, b);
}

function internal(key: InternalKey | null | undefined, hash: string): KeyPrincipal | null {
  if (key == null || !sameHash(key.hash, hash)) return null;
  const { scopes } = key;
  return { kind: 'api_key', keyId: null, keyName: 'internal', scopes, keyTenantId: null, expiresAt: null };
}

/** A stored key as the caller of requests. */
export const keyPrincipal = ({ id, name, scopes, tenantId, expiresAt }: ApiKey): KeyPrincipal => ({
  kind: 'api_key',
  keyId: id,
  keyName: name,
  scopes,
  keyTenantId: tenantId,
  expiresAt,
});

async function loadKey(database: Database, hash: string): Promise<KeyPrincipal | null> {
  const scope = database.forPlatform(AUTHENTICATION);
  const found = await scope.read((reader) => findApiKeyByHash(reader, hash));
  if (found === null) return null;
  // The last use is recorded at most once an hour. If the record fails, the caller is not rejected.
  await scope.transaction((transaction) => touchApiKey(transaction, found.id)).catch(() => undefined);
  return keyPrincipal(found);
}

/**
 * Whether the key can exist. Only few keys do not have the form that Berth generates, and their hashes are read
 * together at intervals.
 */
function formCheck({ database }: ApiDeps): (given: string, hash: string) => Promise<boolean> {
  let others = Promise.resolve<ReadonlySet<string>>(new Set());
  let until = 0;
  return async (given, hash) => {
    if (isGeneratedKey(given)) return true;
    const now = performance.now();
    if (until <= now) {
      until = now + CACHE_TTL_MS;
      others = database.forPlatform(AUTHENTICATION).read(findKeysOfOtherForm);
      others.catch(() => {
        until = 0;
      });
    }
    return (await others).has(hash);
  };
}

/**
 * A key whose lookup is in progress or complete, and the time until which the result is valid. `found` is set when the
 * lookup is complete.
 */
interface Remembered {
  readonly key: Promise<KeyPrincipal | null>;
  readonly until: number;
  found?: KeyPrincipal;
}

/** Finds a key by its text. null: no valid key has this text. */
export type KeyFinder = (given: string) => KeyPrincipal | Promise<KeyPrincipal | null>;

/**
 * Looks up keys by their hash, so that no prefix can be guessed step by step, and caches them for a short time. A
 * cached key is returned without a promise, because nearly every request has a key.
 */
export function keyFinder(deps: ApiDeps): KeyFinder {
  const { database, internalKey } = deps;
  const cache = new Map<string, Remembered>();
  /**
   * Unknown keys, and the time until which the result is valid. Unknown keys are cached separately, so that guessed
   * keys evict no valid keys.
   */
  const unknown = new Map<string, number>();
  const mayExist = formCheck(deps);
  const lookUp = async (given: string, hash: string, now: number): Promise<KeyPrincipal | null> => {
    if ((unknown.get(hash) ?? 0) > now || !(await mayExist(given, hash))) return null;
    const remembered: Remembered = { key: loadKey(database, hash), until: now + CACHE_TTL_MS };
    if (cache.size >= MAX_CACHED_KEYS) cache.clear();
    cache.set(hash, remembered);
    remembered.key.then(
      (found) => {
        if (found !== null) {
          remembered.found = found;
          return;
        }
        cache.delete(hash);
        if (unknown.size >= MAX_UNKNOWN_KEYS) unknown.clear();
        unknown.set(hash, now + UNKNOWN_TTL_MS);
      },
      () => cache.delete(hash),
    );
    return remembered.key;
  };
  return (given) => {
    const hash = hashApiKey(given);
    const now = performance.now();
    const cached = cache.get(hash);
    if (cached !== undefined && cached.until > now) return cached.found ?? cached.key;
    return internal(internalKey, hash) ?? lookUp(given, hash, now);
  };
}
