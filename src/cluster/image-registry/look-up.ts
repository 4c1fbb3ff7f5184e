import { setTimeout as sleep } from 'node:timers/promises';
import type { HostResponse } from '../../outbound/call-host.ts';
import type { Credentials } from './docker-config.ts';
import { registryReference } from './reference.ts';
import { RegistryError } from './registry-error.ts';
import {
  authorizationFor,
  basic,
  callRepository,
  computedDigest,
  headOrGetManifest,
  type LookupContext,
  manifest,
  parsed,
  type RegistryOptions,
  registryFailure,
  statedDigest,
} from './repository-call.ts';

/** Looks up the current digest of an image in its registry (OCI distribution specification). */

export type ImageAnswer =
  | { readonly kind: 'found'; readonly digest: string }
  /** `definite`: the registry reported the absence to a client that may read the repository. */
  | { readonly kind: 'absent'; readonly definite: boolean };

/** NOT_FOUND is the error code of Harbor. */
const NO_MANIFEST: readonly unknown[] = ['MANIFEST_UNKNOWN', 'NOT_FOUND'];
const NO_REPOSITORY = 'NAME_UNKNOWN';

/** Several Secrets may hold credentials for one registry. */
const MAX_CREDENTIALS = 8;
/** Pause before the first retry of a transient failure, in milliseconds. The pause doubles with each retry. */
const FIRST_PAUSE_MS = 250;

/**
 * Some registries answer "not found" to anonymous clients. The answer is definite when the registry requires no
 * login, when the client was authenticated, or when the anonymous client can list tags of the repository.
 */
async function absence(
  context: LookupContext,
  { body }: HostResponse,
  authorization: string | undefined,
  known: boolean,
): Promise<ImageAnswer> {
  const { errors } = parsed(body);
  const codes: unknown[] = Array.isArray(errors) ? errors.map((error) => error?.code) : [];
  const isManifest = codes.some((code) => NO_MANIFEST.includes(code));
  if (known) return { kind: 'absent', definite: isManifest || codes.includes(NO_REPOSITORY) };
  return { kind: 'absent', definite: isManifest && (await showsTags(context, authorization)) };
}

/** Whether the repository lists any tag. A failure of this call does not affect the lookup. */
async function showsTags(context: LookupContext, authorization: string | undefined): Promise<boolean> {
  try {
    const { status, body } = await callRepository(context, 'GET', 'tags/list?n=1', authorization);
    const { tags } = parsed(body);
    return status === 200 && Array.isArray(tags) && tags.length > 0;
  } catch (error) {
    if (error instanceof RegistryError) return false;
    throw error;
  }
}

async function read(
  answer: HostResponse,
  context: LookupContext,
  authorization: string | undefined,
  known: boolean,
): Promise<ImageAnswer> {
  const { host, reference, isDigest } = context.reference;
  if (answer.status === 404) return await absence(context, answer, authorization, known);
  if (answer.status !== 200) throw registryFailure(answer, host);
  if (isDigest) return { kind: 'found', digest: reference };
  const digest = statedDigest(answer) ?? (await digestOfBody(context, answer, authorization));
  if (digest === null)
    throw new RegistryError('unsupported', `${host} does not report the digest of the image`);
  return { kind: 'found', digest };
}

/**
 * The digest of the manifest, computed when no header states it. A previous GET may already have returned the manifest.
 */
async function digestOfBody(
  context: LookupContext,
  answer: HostResponse,
  authorization: string | undefined,
): Promise<string | null> {
  const read = answer.body.length > 0 ? answer : await manifest(context, 'GET', authorization);
  return read.status === 200 ? (statedDigest(read) ?? computedDigest(read)) : null;
}

/** Distinct credentials to try, in order; null: anonymous. */
function triesOf(all: readonly Credentials[]): (Credentials | null)[] {
  const different = new Map(all.map((each) => [basic(each), each]));
  return different.size === 0 ? [null] : [...different.values()];
}

async function attempt(context: LookupContext, all: readonly Credentials[]): Promise<ImageAnswer> {
  const first = await headOrGetManifest(context);
  // Other statuses than 401 mean that the registry requires no login.
  if (first.status !== 401) return await read(first, context, undefined, true);
  const tries = triesOf(all);
  let refusal: RegistryError | null = null;
  let absent: ImageAnswer | null = null;
  // Another account may see an image that this account does not. The kubelet also tries all accounts.
  let definite = tries.length <= MAX_CREDENTIALS;
  for (const credentials of tries.slice(0, MAX_CREDENTIALS)) {
    const answer = await attemptWith(context, first, credentials);
    if (answer instanceof RegistryError) refusal = answer;
    else if (answer.kind === 'found') return answer;
    else absent = answer;
    definite &&= !(answer instanceof RegistryError) && answer.kind === 'absent' && answer.definite;
  }
  if (absent !== null) return { kind: 'absent', definite };
  throw refusal ?? registryFailure(first, context.reference.host);
}

/**
 * Looks up the image with the given credentials.
 * @returns an error: the registry rejects the credentials
 */
async function attemptWith(
  context: LookupContext,
  unauthorized: HostResponse,
  credentials: Credentials | null,
): Promise<ImageAnswer | RegistryError> {
  try {
    const authorization = await authorizationFor(context, unauthorized, credentials);
    if (authorization === null) return registryFailure(unauthorized, context.reference.host);
    const answer = await headOrGetManifest(context, authorization);
    return await read(answer, context, authorization, credentials !== null);
  } catch (error) {
    if (error instanceof RegistryError && error.kind === 'refused') return error;
    throw error;
  }
}

/** Pause before the next attempt, in milliseconds; null: do not retry. */
function pauseAfter(error: unknown, attempts: number): number | null {
  if (!(error instanceof RegistryError)) return null;
  // A rate-limited client must not send more requests, unless the registry states when it may.
  if (error.kind === 'limited') return error.retryAfterMs ?? null;
  if (error.kind !== 'unavailable' && error.kind !== 'failing') return null;
  return error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (attempts - 1);
}

/** Retries transient failures with GET as long as time is left. */
async function persist(context: LookupContext, credentials: readonly Credentials[]): Promise<ImageAnswer> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt(context, credentials);
    } catch (error) {
      const pause = pauseAfter(error, attempts);
      if (pause === null || performance.now() + pause >= context.endsAt) throw error;
      // Some registries fail or cut off a HEAD but respond to a GET. Under a rate limit, a GET would cost more.
      if (!(error instanceof RegistryError && error.kind === 'limited')) context.head.isWorthwhile = false;
      await sleep(pause, undefined, { signal: context.signal });
    }
  }
}

/**
 * The current digest of an image, or its absence. Without credentials, the call is anonymous. Of several credentials,
 * the first that the registry accepts is used.
 * @param signal stops the lookup early
 * @throws RegistryError; the signal's reason
 */
export async function lookUpImage(
  image: string,
  credentials: readonly Credentials[],
  options: RegistryOptions,
  signal: AbortSignal,
): Promise<ImageAnswer> {
  const reference = registryReference(image);
  if (reference === null) throw new RegistryError('unsupported', 'it is not a valid image reference');
  const { host } = reference;
  const endsAt = performance.now() + options.timeoutMs;
  const timeout = AbortSignal.timeout(options.timeoutMs);
  let answered = false;
  const context: LookupContext = {
    reference,
    insecure: options.insecureHosts.includes(host),
    mayBePrivate: options.privateHosts === 'any' || options.privateHosts.includes(host),
    options,
    signal: AbortSignal.any([signal, timeout]),
    endsAt,
    head: { isWorthwhile: true },
    onResponse: () => {
      answered = true;
    },
  };
  try {
    return await persist(context, credentials);
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    const within = `within ${options.timeoutMs / 1000} s`;
    // The registry did respond, so the lookup was slow because of this image or of the number of credentials. The
    // tenant chooses both.
    throw answered
      ? new RegistryError('slow', `${host} responded, but the lookup did not finish ${within}`)
      : new RegistryError('unavailable', `${host} did not respond ${within}`);
  }
}
