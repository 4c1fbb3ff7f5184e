import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fullJitter } from '../../../domain/core/backoff.ts';
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
import { Turns } from './turns.ts';

/**
 * Asks registries beside the reconcile workers: whoever waits for an answer waits without one of them, and without
 * anybody else waiting for it. Answers are kept until they stand in stored templates; losing them costs another look.
 */

export interface DigestResolverOptions {
  readonly client: {
    find(
      resource: typeof RESOURCES.Secret,
      at: { namespace: string; name: string },
      options: { signal: AbortSignal },
    ): Promise<UntypedObject | undefined>;
  };
  /** As lookUpImage, its options bound. */
  readonly lookUp: (
    image: string,
    credentials: readonly Credentials[],
    signal: AbortSignal,
  ) => Promise<ImageAnswer>;
  /** Longest that one registry is asked for one image, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'now' | 'date'>;
  /** Called when there is an answer for a key. */
  readonly answered: (key: string) => void;
  /** Ends all that is under way. */
  readonly signal: AbortSignal;
}

const SECRETS_BACKOFF = { baseMs: 200, capMs: 5_000 };

/** Asked side by side: in all, of one registry and for one namespace. */
const LIMITS = { total: 32, perGroup: 8, perOwner: 16 };
/** An answer is waited for behind others of the same registry for so many times of one look. */
const MOST_WAITS = 10;

interface Known {
  readonly id: string;
  look: ImageLookup;
  /** Ends the look that is under way. */
  readonly ending: AbortController;
}

interface Question {
  readonly image: string;
  readonly credentials: readonly Credentials[];
  readonly caller: RegistryCaller;
  /** In ticks (look-time.ts); that of a look is a date. */
  readonly until: number;
}

export class DigestResolver {
  readonly #options: DigestResolverOptions;
  readonly #known = new Map<string, Known>();
  readonly #turns = new Turns(LIMITS);
  readonly #silent: RegistryCircuitBreaker;
  readonly #questions = new SingleFlight<ImageAnswer>();

  constructor(options: DigestResolverOptions) {
    this.#options = options;
    this.#silent = new RegistryCircuitBreaker(() => options.clock.now());
  }

  /** How far the look is that `asked` needs; it is begun where it was not. undefined: nothing is asked. */
  resolve(key: string, asked: ImageQuery | null): ImageLookup | undefined {
    const known = this.#known.get(key);
    if (asked !== null && known?.id === asked.id) return known.look;
    this.forget(key);
    if (asked === null) return undefined;
    const { clock, timeoutMs, signal } = this.#options;
    const longest = timeoutMs * (MOST_WAITS + 1);
    const ending = new AbortController();
    const begun: Known = {
      id: asked.id,
      look: { kind: 'pending', until: clock.date().getTime() + longest },
      ending,
    };
    this.#known.set(key, begun);
    const ended = AbortSignal.any([signal, ending.signal]);
    void this.#look(asked, clock.now() + longest, ended).then((look) => {
      // An end of ours is no answer.
      if (ended.aborted) return;
      begun.look = look;
      this.#options.answered(key);
    });
    return begun.look;
  }

  /** The resource is gone, or wants something else: nobody waits for the look any more. */
  forget(key: string): void {
    this.#known.get(key)?.ending.abort();
    this.#known.delete(key);
  }

  async #look(asked: ImageQuery, until: number, ended: AbortSignal): Promise<ImageLookup> {
    const { image } = asked;
    const pinned = image.includes('@');
    try {
      const answer = await this.#ask(asked, until, ended);
      if (answer.kind === 'found') {
        return { kind: 'resolved', image: pinned ? image : `${image}@${answer.digest}` };
      }
      if (!pinned) return { kind: 'unresolved', why: 'the registry says that there is no such image' };
      if (answer.definite) return { kind: 'absent', why: absent(image) };
    } catch (error) {
      if (!pinned) return { kind: 'unresolved', why: wordsOf(error) };
    }
    // It has its digest already, and whether it is there the pods will tell.
    return { kind: 'resolved', image };
  }

  async #ask(asked: ImageQuery, until: number, ended: AbortSignal): Promise<ImageAnswer> {
    const { image, namespace, pullSecrets } = asked;
    const reference = registryReference(image);
    if (reference === null) throw new RegistryError('unsupported', 'it is no image reference');
    const secrets = await this.#secrets(namespace, pullSecrets, until, ended);
    const credentials = secrets.flatMap((data) => credentialsFor(data, reference));
    const caller = { host: reference.host, namespace, credentials: hashOf(credentials) };
    // Before it waits for a turn.
    this.#silent.check(caller);
    const question = JSON.stringify([namespace, image, caller.credentials]);
    return await this.#questions.answer(question, ended, (signal) =>
      this.#turns.run({ group: caller.host, owner: namespace }, signal, () =>
        this.#call({ image, credentials, caller, until }, signal),
      ),
    );
  }

  async #call({ image, credentials, caller, until }: Question, signal: AbortSignal): Promise<ImageAnswer> {
    const { lookUp, clock, timeoutMs } = this.#options;
    // It may have fallen silent while others were before.
    this.#silent.check(caller);
    if (clock.now() > until - timeoutMs)
      throw new RegistryError('unsupported', 'too many images are looked up');
    try {
      return await lookUp(image, credentials, signal);
    } catch (error) {
      this.#silent.note(caller, error);
      throw error;
    }
  }

  /** A look is made once in the life of a revision: what may pass of our own API server is tried again while there is time. */
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

  /** Secrets that are missing are no matter here: kubelets, too, pull without them. */
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
  return `the registry says that ${image} does not exist (any more): push it again and redeploy, or deploy another image`;
}

/** Nothing of a Secret, and nothing that the registry says, is among it. */
function wordsOf(error: unknown): string {
  if (error instanceof RegistryError) return error.message;
  return isKubeError(error) ? 'a Secret to pull with could not be read' : 'the look-up failed';
}
