import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fullJitter } from '../../../domain/core/backoff.ts';
import { FairLimiter } from '../../../domain/scheduling/fair-limiter.ts';
import { type Credentials, credentialsFor } from '../../image-registry/docker-config.ts';
import type { ImageAnswer } from '../../image-registry/look-up.ts';
import { registryReference } from '../../image-registry/reference.ts';
import { RegistryError } from '../../image-registry/registry-error.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { ImageLookup, ImageQuery } from './image-lookup.ts';
import { type RegistryCaller, RegistryCircuitBreaker } from './registry-circuit-breaker.ts';
import { SingleFlight } from './single-flight.ts';

/**
 * Resolves images to digests outside the reconcile workers. A resource that waits for a result occupies no worker
 * and delays no other resource. Results are kept until stored templates contain them. A lost result costs another
 * lookup.
 */

export interface DigestResolverOptions {
  readonly client: {
    find(
      resource: typeof RESOURCES.Secret,
      at: { namespace: string; name: string },
      options: { signal: AbortSignal },
    ): Promise<UntypedObject | undefined>;
  };
  /** `lookUpImage` with its options bound. */
  readonly lookUp: (
    image: string,
    credentials: readonly Credentials[],
    signal: AbortSignal,
  ) => Promise<ImageAnswer>;
  /** Timeout of one request to a registry, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'now' | 'date'>;
  /** Called when a lookup has a result. */
  readonly answered: (key: string) => void;
  /** Aborts all lookups. */
  readonly signal: AbortSignal;
}

const SECRETS_BACKOFF = { baseMs: 200, capMs: 5_000 };

/** Concurrent requests, in total and for each namespace, which belongs to one tenant. */
const LIMITS = { total: 32, perTenant: 16 };
/**
 * Concurrent requests to one registry. A request that waits for one of the places above keeps its place at the
 * registry. `perTenant` leaves the other places to other namespaces.
 */
const LIMITS_OF_REGISTRY = { total: 8, perTenant: 4 };
/** Maximum wait of a lookup for other lookups of its registry, in multiples of the timeout. */
const MAX_WAITS = 10;

interface Lookup {
  readonly id: string;
  state: ImageLookup;
  /** Aborts the lookup. */
  readonly ending: AbortController;
}

interface Question {
  readonly image: string;
  readonly credentials: readonly Credentials[];
  readonly caller: RegistryCaller;
  /** End of the lookup in ticks (reconcile-time.ts), whereas `ImageLookup.until` is a date. */
  readonly until: number;
}

export class DigestResolver {
  readonly #options: DigestResolverOptions;
  readonly #lookups = new Map<string, Lookup>();
  readonly #limiter = new FairLimiter(LIMITS);
  /** By host; without registries that have no request. */
  readonly #registries = new Map<string, FairLimiter>();
  readonly #breaker: RegistryCircuitBreaker;
  readonly #requests = new SingleFlight<ImageAnswer>();

  constructor(options: DigestResolverOptions) {
    this.#options = options;
    this.#breaker = new RegistryCircuitBreaker(() => options.clock.now());
  }

  /** State of the lookup of the image `asked`. Starts the lookup if necessary. undefined: no image to look up. */
  resolve(key: string, asked: ImageQuery | null): ImageLookup | undefined {
    const known = this.#lookups.get(key);
    if (asked !== null && known?.id === asked.id) return known.state;
    this.forget(key);
    if (asked === null) return undefined;
    const { clock, timeoutMs, signal } = this.#options;
    const longest = timeoutMs * (MAX_WAITS + 1);
    const ending = new AbortController();
    const begun: Lookup = {
      id: asked.id,
      state: { kind: 'pending', until: clock.date().getTime() + longest },
      ending,
    };
    this.#lookups.set(key, begun);
    const ended = AbortSignal.any([signal, ending.signal]);
    void this.#lookUp(asked, clock.now() + longest, ended).then((result) => {
      // An aborted lookup has no result.
      if (ended.aborted) return;
      begun.state = result;
      this.#options.answered(key);
    });
    return begun.state;
  }

  /** Aborts the lookup of a resource that was deleted or changed. */
  forget(key: string): void {
    this.#lookups.get(key)?.ending.abort();
    this.#lookups.delete(key);
  }

  async #lookUp(asked: ImageQuery, until: number, ended: AbortSignal): Promise<ImageLookup> {
    const { image } = asked;
    const pinned = image.includes('@');
    try {
      const answer = await this.#ask(asked, until, ended);
      if (answer.kind === 'found') {
        return { kind: 'resolved', image: pinned ? image : `${image}@${answer.digest}` };
      }
      if (!pinned) return { kind: 'unresolved', why: 'the registry reports that the image does not exist' };
      if (answer.definite) return { kind: 'absent', why: absent(image) };
    } catch (error) {
      if (!pinned) return { kind: 'unresolved', why: describeError(error) };
    }
    // The image already has a digest. The pods will show whether this digest exists.
    return { kind: 'resolved', image };
  }

  async #ask(asked: ImageQuery, until: number, ended: AbortSignal): Promise<ImageAnswer> {
    const { image, namespace, pullSecrets } = asked;
    const reference = registryReference(image);
    if (reference === null) throw new RegistryError('unsupported', 'it is not a valid image reference');
    const secrets = await this.#secrets(namespace, pullSecrets, until, ended);
    const credentials = secrets.flatMap((data) => credentialsFor(data, reference));
    const caller = { host: reference.host, namespace, credentials: hashOf(credentials) };
    // An open circuit breaker fails the lookup before it waits for its turn.
    this.#breaker.check(caller);
    const question = JSON.stringify([namespace, image, caller.credentials]);
    return await this.#requests.answer(question, ended, (signal) =>
      this.#inTurn(caller, signal, () => this.#call({ image, credentials, caller, until }, signal)),
    );
  }

  /** A request waits for its registry first, so that requests to a slow registry occupy no place of other requests. */
  async #inTurn<T>(
    { host, namespace }: RegistryCaller,
    signal: AbortSignal,
    request: () => Promise<T>,
  ): Promise<T> {
    const registry = this.#registries.get(host) ?? new FairLimiter(LIMITS_OF_REGISTRY);
    this.#registries.set(host, registry);
    try {
      return await registry.run(namespace, () => this.#limiter.run(namespace, request, signal), signal);
    } finally {
      // Another request may have deleted the limiter before, and a third may have added a new limiter.
      const isCurrent = this.#registries.get(host) === registry;
      if (isCurrent && registry.running + registry.waiting === 0) this.#registries.delete(host);
    }
  }

  async #call({ image, credentials, caller, until }: Question, signal: AbortSignal): Promise<ImageAnswer> {
    const { lookUp, clock, timeoutMs } = this.#options;
    // The registry may have failed during the wait.
    this.#breaker.check(caller);
    if (clock.now() > until - timeoutMs)
      throw new RegistryError('unsupported', 'too many lookups of images are waiting');
    try {
      return await lookUp(image, credentials, signal);
    } catch (error) {
      this.#breaker.note(caller, error);
      throw error;
    }
  }

  /**
   * Reads the pull Secrets. The image of a revision is looked up only once, so temporary errors of the API server are
   * retried while time is left.
   */
  async #secrets(namespace: string, names: readonly string[], until: number, signal: AbortSignal) {
    const { clock, timeoutMs } = this.#options;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#readSecrets(namespace, names, signal);
      } catch (error) {
        const pauseMs = fullJitter(failures, SECRETS_BACKOFF, Math.random);
        const isLate = clock.now() + pauseMs > until - timeoutMs;
        if (isLate || !isKubeError(error, 'server', 'timeout', 'network', 'too_many_requests')) throw error;
        await delay(pauseMs, undefined, { signal });
      }
    }
  }

  /** Missing Secrets are ignored, as the kubelet does. */
  async #readSecrets(
    namespace: string,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<Record<string, string>[]> {
    const { client } = this.#options;
    const found = await Promise.all(
      names.map((name) => client.find(RESOURCES.Secret, { namespace, name }, { signal })),
    );
    return found.flatMap((secret) => {
      const data = secret?.['data'];
      return typeof data === 'object' && data !== null ? [data as Record<string, string>] : [];
    });
  }
}

function hashOf(credentials: readonly Credentials[]): string {
  return createHash('sha256').update(JSON.stringify(credentials)).digest('hex');
}

function absent(image: string): string {
  return (
    `the registry reports that ${image} does not exist, or no longer exists: push it again and redeploy, or ` +
    `deploy another image`
  );
}

/** A message without content of a Secret or of a registry's response. */
function describeError(error: unknown): string {
  if (error instanceof RegistryError) return error.message;
  return isKubeError(error) ? 'a pull Secret could not be read' : 'the lookup failed';
}
