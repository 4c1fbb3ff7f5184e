import { isDeepStrictEqual } from 'node:util';
import { FairLimiter } from '../../../domain/scheduling/fair-limiter.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { type CertificateFacts, certificateFacts } from './certificate-facts.ts';
import type { HostFacts } from './observed-host.ts';

/**
 * Looks up the hosts of custom resources in DNS, and their certificates, outside the reconcile workers. Results are kept in
 * memory and looked up again at intervals, so that a status does not become stale.
 */

/** What to look up for one host. */
export interface HostQuestion {
  readonly host: string;
  /** The TXT record that must exist; null: no proof is needed, or it was found before. */
  readonly challenge: { readonly name: string; readonly value: string } | null;
  /** Name of the Certificate of cert-manager; null: none is expected. */
  readonly certificate: string | null;
}

/** The records of a name; null: no answer. */
type Records = readonly string[] | null;

export interface DomainLookupsOptions {
  readonly dns: {
    addresses(name: string, signal: AbortSignal): Promise<Records>;
    texts(name: string, signal: AbortSignal): Promise<Records>;
  };
  readonly client: {
    find(
      resource: typeof RESOURCES.Certificate,
      at: { namespace: string; name: string },
      options: { signal: AbortSignal },
    ): Promise<UntypedObject | undefined>;
  };
  readonly clock: Pick<Clock, 'now'>;
  /** Called when lookups of a custom resource have a result. */
  readonly answered: (key: string) => void;
  /** Aborts all lookups. */
  readonly signal: AbortSignal;
  /** Times in ms. Default: see below. */
  readonly intervals?: Partial<LookupIntervals>;
}

export interface LookupIntervals {
  /** Time between two lookups of a host that lacks nothing. */
  readonly settledMs: number;
  /** First pause while something is missing. The pause doubles until `slowestMs`. */
  readonly firstMs: number;
  readonly slowestMs: number;
}

const INTERVALS: LookupIntervals = { settledMs: 300_000, firstMs: 5_000, slowestMs: 60_000 };

/** Concurrent lookups, in total and for each namespace, which belongs to one tenant. */
const LIMITS = { total: 16, perTenant: 4 };

/** Number of lookups in a row without an answer after which the former answer counts as unknown. */
const MAX_FAILURES = 2;

interface Lookup {
  readonly question: HostQuestion;
  facts: HostFacts | undefined;
  /** Number of lookups in a row with the same result. */
  repeats: number;
  failures: number;
  running: boolean;
  /** When the next lookup is due, in ms of the monotonic clock. */
  dueAt: number;
}

type Hosts = Map<string, Lookup>;

/** The state of all hosts of a custom resource. */
export interface LookupState {
  /** Without hosts that have no result yet. */
  readonly facts: ReadonlyMap<string, HostFacts>;
  /** Time until the next lookup is due, in ms; null: none is due, because all are running. */
  readonly pauseMs: number | null;
}

export class DomainLookups {
  readonly #options: DomainLookupsOptions;
  readonly #intervals: LookupIntervals;
  readonly #byKey = new Map<string, Hosts>();
  readonly #limiter = new FairLimiter(LIMITS);

  constructor(options: DomainLookupsOptions) {
    this.#options = options;
    this.#intervals = { ...INTERVALS, ...options.intervals };
  }

  /** The last results for the hosts of a custom resource. Starts the lookups that are due. */
  of(key: string, namespace: string, questions: readonly HostQuestion[]): LookupState {
    const before = this.#byKey.get(key);
    const now = this.#options.clock.now();
    const hosts: Hosts = new Map(
      questions.map((question) => [question.host, continued(before?.get(question.host), question, now)]),
    );
    if (hosts.size === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, hosts);
    for (const question of questions) {
      const lookup = hosts.get(question.host);
      if (lookup !== undefined && !lookup.running && lookup.dueAt <= now)
        void this.#run(key, namespace, question, lookup);
    }
    const all = [...hosts.values()];
    const waiting = all.filter(({ running }) => !running).map(({ dueAt }) => Math.max(0, dueAt - now));
    return {
      facts: new Map([...hosts].flatMap(([host, { facts }]) => (facts === undefined ? [] : [[host, facts]]))),
      pauseMs: waiting.length === 0 ? null : Math.min(...waiting),
    };
  }

  /** Whether the last lookup has found this value in the TXT record of the host. */
  hasFound(key: string, host: string, value: string): boolean {
    const { question, facts } = this.#byKey.get(key)?.get(host) ?? {};
    return facts?.proven === true && question?.challenge?.value === value;
  }

  /** Forgets a custom resource that was deleted. */
  forget(key: string): void {
    this.#byKey.delete(key);
  }

  async #run(key: string, namespace: string, question: HostQuestion, lookup: Lookup): Promise<void> {
    const { signal, answered } = this.#options;
    lookup.running = true;
    let facts: HostFacts;
    try {
      facts = await this.#limiter.run(namespace, () => this.#ask(namespace, question), signal);
    } catch {
      // The term has ended, or the API server did not answer.
      facts = { addresses: null, proven: null, certificate: null };
    }
    lookup.running = false;
    if (signal.aborted) return;
    this.#note(lookup, facts, question);
    // The host may have been removed, or its question may have changed, meanwhile.
    if (this.#byKey.get(key)?.get(question.host) === lookup) answered(key);
  }

  async #ask(namespace: string, { host, challenge, certificate }: HostQuestion): Promise<HostFacts> {
    const { dns, signal } = this.#options;
    const [addresses, texts, found] = await Promise.all([
      dns.addresses(host, signal),
      challenge === null ? null : dns.texts(challenge.name, signal),
      certificate === null ? null : this.#certificate(namespace, certificate, host),
    ]);
    const proven = challenge === null || texts === null ? null : texts.includes(challenge.value);
    return { addresses, proven, certificate: found };
  }

  /** null: the API server did not answer, or rejected the call. */
  async #certificate(namespace: string, name: string, host: string): Promise<CertificateFacts | null> {
    const { client, signal } = this.#options;
    try {
      return certificateFacts(
        await client.find(RESOURCES.Certificate, { namespace, name }, { signal }),
        name,
        host,
      );
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return null;
    }
  }

  #note(lookup: Lookup, facts: HostFacts, { challenge, certificate }: HostQuestion): void {
    const { settledMs, firstMs, slowestMs } = this.#intervals;
    const isAnswered = facts.addresses !== null && (challenge === null || facts.proven !== null);
    lookup.failures = isAnswered ? 0 : lookup.failures + 1;
    const keepsFormer = !isAnswered && lookup.failures < MAX_FAILURES && lookup.facts !== undefined;
    const next = keepsFormer ? lookup.facts : facts;
    lookup.repeats = JSON.stringify(next) === JSON.stringify(lookup.facts) ? lookup.repeats + 1 : 0;
    lookup.facts = next;
    const lacksNothing =
      isAnswered &&
      facts.addresses !== null &&
      facts.addresses.length > 0 &&
      (challenge === null || facts.proven === true) &&
      (certificate === null || facts.certificate?.ready === true);
    const pauseMs = lacksNothing
      ? settledMs
      : Math.min(slowestMs, firstMs * 2 ** Math.min(lookup.repeats, 16));
    lookup.dueAt = this.#options.clock.now() + pauseMs;
  }
}

/** The state for a question. If the question has changed, the host is looked up again at once. */
function continued(before: Lookup | undefined, question: HostQuestion, now: number): Lookup {
  if (before !== undefined && isDeepStrictEqual(before.question, question)) return before;
  const facts = before?.facts;
  const isSameChallenge = before?.question.challenge?.value === question.challenge?.value;
  return {
    question,
    // A proof counts only for the value that was looked up.
    facts: facts && (isSameChallenge ? facts : { ...facts, proven: null }),
    repeats: 0,
    failures: 0,
    running: false,
    dueAt: now,
  };
}
