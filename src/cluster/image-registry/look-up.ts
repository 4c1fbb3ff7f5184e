import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './call.ts';
import type { Credentials } from './docker-config.ts';
import { registryReference } from './reference.ts';
import { RegistryError } from './registry-error.ts';
import {
  type Asked,
  authorizationFor,
  basic,
  callRepository,
  computedDigest,
  failureOf,
  headOrGetManifest,
  manifest,
  parsed,
  type RegistryOptions,
  statedDigest,
} from './repository-call.ts';

/** Asks a registry which digest an image has at present (OCI distribution specification). */

export type ImageAnswer =
  | { readonly kind: 'found'; readonly digest: string }
  /** `definite`: it says so to somebody whom it lets look. */
  | { readonly kind: 'absent'; readonly definite: boolean };

/** NOT_FOUND is Harbor's. */
const NO_MANIFEST: readonly unknown[] = ['MANIFEST_UNKNOWN', 'NOT_FOUND'];
const NO_REPOSITORY = 'NAME_UNKNOWN';

/** Several Secrets may hold credentials for one registry. */
const MAX_CREDENTIALS = 8;
/** Before another try of what may pass, in milliseconds; then twice as long, and so on. */
const FIRST_PAUSE_MS = 250;

/**
 * Some registries tell strangers that there is nothing: it counts where nobody had to say who he is, or has said so, or
 * where the stranger is shown the other images of the repository.
 */
async function absence(
  asked: Asked,
  { body }: Answer,
  authorization: string | undefined,
  known: boolean,
): Promise<ImageAnswer> {
  const { errors } = parsed(body);
  const codes: unknown[] = Array.isArray(errors) ? errors.map((error) => error?.code) : [];
  const isManifest = codes.some((code) => NO_MANIFEST.includes(code));
  if (known) return { kind: 'absent', definite: isManifest || codes.includes(NO_REPOSITORY) };
  return { kind: 'absent', definite: isManifest && (await showsTags(asked, authorization)) };
}

/** Whether the repository shows some tag. What goes wrong with this question is no answer to the other one. */
async function showsTags(asked: Asked, authorization: string | undefined): Promise<boolean> {
  try {
    const { status, body } = await callRepository(asked, 'GET', 'tags/list?n=1', authorization);
    const { tags } = parsed(body);
    return status === 200 && Array.isArray(tags) && tags.length > 0;
  } catch (error) {
    if (error instanceof RegistryError) return false;
    throw error;
  }
}

async function read(
  answer: Answer,
  asked: Asked,
  authorization: string | undefined,
  known: boolean,
): Promise<ImageAnswer> {
  const { host, reference, isDigest } = asked.reference;
  if (answer.status === 404) return await absence(asked, answer, authorization, known);
  if (answer.status !== 200) throw failureOf(answer, host);
  if (isDigest) return { kind: 'found', digest: reference };
  const digest = statedDigest(answer) ?? (await digestOfBody(asked, answer, authorization));
  if (digest === null)
    throw new RegistryError('unsupported', `${host} does not tell the digest of the image`);
  return { kind: 'found', digest };
}

/** The digest where no header states it: of the manifest, which a GET has answered already or is asked for. */
async function digestOfBody(
  asked: Asked,
  answer: Answer,
  authorization: string | undefined,
): Promise<string | null> {
  const read = answer.body.length > 0 ? answer : await manifest(asked, 'GET', authorization);
  return read.status === 200 ? (statedDigest(read) ?? computedDigest(read)) : null;
}

/** Credentials that are worth a try, each once; null: a stranger's. */
function triesOf(all: readonly Credentials[]): (Credentials | null)[] {
  const different = new Map(all.map((each) => [basic(each), each]));
  return different.size === 0 ? [null] : [...different.values()];
}

async function ask(asked: Asked, all: readonly Credentials[]): Promise<ImageAnswer> {
  const first = await headOrGetManifest(asked);
  // It asks nobody who he is.
  if (first.status !== 401) return await read(first, asked, undefined, true);
  const tries = triesOf(all);
  let refusal: RegistryError | null = null;
  let absent: ImageAnswer | null = null;
  // What is not there for one may be there for another: kubelets try them all.
  let definite = tries.length <= MAX_CREDENTIALS;
  for (const credentials of tries.slice(0, MAX_CREDENTIALS)) {
    const answer = await askAs(asked, first, credentials);
    if (answer instanceof RegistryError) refusal = answer;
    else if (answer.kind === 'found') return answer;
    else absent = answer;
    definite &&= !(answer instanceof RegistryError) && answer.kind === 'absent' && answer.definite;
  }
  if (absent !== null) return { kind: 'absent', definite };
  throw refusal ?? failureOf(first, asked.reference.host);
}

/** Asks with these credentials; an error: they are refused. */
async function askAs(
  asked: Asked,
  unauthorized: Answer,
  credentials: Credentials | null,
): Promise<ImageAnswer | RegistryError> {
  try {
    const authorization = await authorizationFor(asked, unauthorized, credentials);
    if (authorization === null) return failureOf(unauthorized, asked.reference.host);
    const answer = await headOrGetManifest(asked, authorization);
    return await read(answer, asked, authorization, credentials !== null);
  } catch (error) {
    if (error instanceof RegistryError && error.kind === 'refused') return error;
    throw error;
  }
}

/** How long to wait before another try; null: it is not worth one. */
function pauseAfter(error: unknown, tried: number): number | null {
  if (!(error instanceof RegistryError)) return null;
  // Whoever is asked for less does not ask more often, but where he is told when.
  if (error.kind === 'limited') return error.retryAfterMs ?? null;
  if (error.kind !== 'unavailable' && error.kind !== 'failing') return null;
  return error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (tried - 1);
}

/** Asks again what may pass, by GET, as long as there is time for another try. */
async function persist(asked: Asked, credentials: readonly Credentials[]): Promise<ImageAnswer> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await ask(asked, credentials);
    } catch (error) {
      const pause = pauseAfter(error, tried);
      if (pause === null || performance.now() + pause >= asked.endsAt) throw error;
      // Some registries fail or cut a HEAD and answer a GET. Where requests are limited, a GET would cost more.
      if (!(error instanceof RegistryError && error.kind === 'limited')) asked.head.isWorthwhile = false;
      await sleep(pause, undefined, { signal: asked.signal });
    }
  }
}

/**
 * The digest that an image has at present, or that it is not there. Without credentials it is asked for as a stranger;
 * of several the first one counts that the registry takes.
 * @param signal ends it early
 * @throws RegistryError; the signal's reason
 */
export async function lookUpImage(
  image: string,
  credentials: readonly Credentials[],
  options: RegistryOptions,
  signal: AbortSignal,
): Promise<ImageAnswer> {
  const reference = registryReference(image);
  if (reference === null) throw new RegistryError('unsupported', 'it is no image reference');
  const { host } = reference;
  const endsAt = performance.now() + options.timeoutMs;
  const box = AbortSignal.timeout(options.timeoutMs);
  let answered = false;
  const asked: Asked = {
    reference,
    insecure: options.insecureHosts.includes(host),
    mayBePrivate: options.privateHosts === 'any' || options.privateHosts.includes(host),
    options,
    signal: AbortSignal.any([signal, box]),
    endsAt,
    head: { isWorthwhile: true },
    onAnswer: () => {
      answered = true;
    },
  };
  try {
    return await persist(asked, credentials);
  } catch (error) {
    signal.throwIfAborted();
    if (!box.aborted) throw error;
    const within = `within ${options.timeoutMs / 1000} s`;
    // What takes so long may be this image, or the many credentials that were tried: both are the tenant's.
    throw answered
      ? new RegistryError('slow', `${host} did not answer all that was asked ${within}`)
      : new RegistryError('unavailable', `${host} did not answer ${within}`);
  }
}
