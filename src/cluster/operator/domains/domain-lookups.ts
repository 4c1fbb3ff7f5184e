import { FairLimiter } from '../../../domain/scheduling/fair-limiter.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import { type CertificateFacts, certificateFacts } from './certificate-facts.ts';
import { DnsOutages } from './dns-outages.ts';
import {
  currentFacts,
  type HostQuestion,
  type Lookup,
  type LookupIntervals,
  lookupFor,
  NOTHING_KNOWN,
  noteResult,
  returnAt,
} from './lookup.ts';
import type { HostFacts } from './observed-host.ts';

/**
 * Looks up the hosts of custom resources in DNS, and their certificates, outside the reconcile workers. Results are kept in
 * memory and looked up again at intervals, so that a status does not become stale.
 */

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
  /** Called when a lookup of a custom resource has changed something. */
  readonly answered: (key: string) => void;
  /** Aborts all lookups. */
  readonly signal: AbortSignal;
  /** Times in ms. Default: see below. */
  readonly intervals?: Partial<LookupIntervals>;
}

const INTERVALS: LookupIntervals = { settledMs: 300_000, firstMs: 5_000, slowestMs: 60_000 };

/** Concurrent lookups, in total and for each namespace, which belongs to one tenant. */
const LIMITS = { total: 16, perTenant: 4 };

/** The state of all hosts of a custom resource. */
export interface LookupState {
  /** Without hosts that have no result yet. */
  readonly facts: ReadonlyMap<string, HostFacts>;
  /** Time in ms after which the caller has to return, unless a result is reported before; null: there are no hosts. */
  readonly pauseMs: number | null;
}

export class DomainLookups {
  readonly #options: DomainLookupsOptions;
  readonly #intervals: LookupIntervals;
  readonly #byKey = new Map<string, Map<string, Lookup>>();
  readonly #limiter = new FairLimiter(LIMITS);
  readonly #outages = new DnsOutages();

  constructor(options: DomainLookupsOptions) {
    this.#options = options;
    this.#intervals = { ...INTERVALS, ...options.intervals };
  }

  /** The last results for the hosts of a custom resource. Starts the lookups that are due. */
  of(key: string, namespace: string, questions: readonly HostQuestion[]): LookupState {
    const former = this.#byKey.get(key) ?? new Map<string, Lookup>();
    const now = this.#options.clock.now();
    const hosts = new Map(
      questions.map((question) => {
        return [question.host, lookupFor(former.get(question.host), question, now, this.#intervals)];
      }),
    );
    for (const [host, { running }] of former) if (!hosts.has(host)) running?.abort();
    if (hosts.size === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, hosts);
    const all = [...hosts.values()];
    // The host that has waited longest is first, because an outage stops the others.
    const due = all.filter(({ running, dueAt }) => running === null && dueAt <= now);
    for (const lookup of due.toSorted((a, b) => a.startedAt - b.startedAt))
      this.#start(key, namespace, lookup);
    const pauses = all.map((lookup) => Math.max(0, returnAt(lookup, now, this.#intervals) - now));
    return {
      facts: new Map(
        [...hosts].flatMap(([host, lookup]) => {
          const facts = currentFacts(lookup, now, this.#intervals);
          return facts === undefined ? [] : [[host, facts]];
        }),
      ),
      pauseMs: pauses.length === 0 ? null : Math.min(...pauses),
    };
  }

  /** Whether the last lookup has found this value in the TXT record of the host. */
  hasFound(key: string, host: string, value: string): boolean {
    const lookup = this.#byKey.get(key)?.get(host);
    if (lookup?.question.challenge?.value !== value) return false;
    return currentFacts(lookup, this.#options.clock.now(), this.#intervals)?.proven === true;
  }

  /** Forgets a custom resource that was deleted, and cancels its lookups. */
  forget(key: string): void {
    for (const { running } of this.#byKey.get(key)?.values() ?? []) running?.abort();
    this.#byKey.delete(key);
  }

  #start(key: string, namespace: string, lookup: Lookup): void {
    const now = this.#options.clock.now();
    const postponed = this.#outages.until(namespace, now);
    if (postponed === null) void this.#run(key, namespace, lookup);
    else lookup.dueAt = postponed;
  }

  async #run(key: string, namespace: string, lookup: Lookup): Promise<void> {
    const { answered, clock } = this.#options;
    const ending = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, ending.signal]);
    lookup.running = ending;
    lookup.askedAt = clock.now();
    let mustReturn = false;
    try {
      await this.#limiter.run(
        namespace,
        async () => {
          mustReturn = await this.#lookUp(namespace, lookup, signal);
        },
        signal,
      );
    } catch {
      // The term has ended, the host was removed, or the API server did not answer.
      if (!signal.aborted)
        mustReturn = noteResult(lookup, lookup.question, NOTHING_KNOWN, clock.now(), this.#intervals);
    }
    lookup.running = null;
    if (!signal.aborted && mustReturn) answered(key);
  }

  /** @returns whether the caller of `of` has to return before it intends to */
  async #lookUp(namespace: string, lookup: Lookup, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const { clock } = this.#options;
    const postponed = this.#outages.until(namespace, clock.now());
    if (postponed !== null) {
      lookup.dueAt = postponed;
      return true;
    }
    // The question may have changed while the lookup waited.
    const { question } = lookup;
    lookup.startedAt = clock.now();
    const facts = await this.#ask(namespace, question, signal);
    if (signal.aborted) return false;
    this.#outages.note(namespace, facts.hasAddress !== null || facts.proven !== null, clock.now());
    return noteResult(lookup, question, facts, clock.now(), this.#intervals);
  }

  async #ask(
    namespace: string,
    { host, challenge, certificate: name }: HostQuestion,
    signal: AbortSignal,
  ): Promise<HostFacts> {
    const { dns } = this.#options;
    const [addresses, texts, certificate] = await Promise.all([
      dns.addresses(host, signal),
      challenge === null ? null : dns.texts(challenge.name, signal),
      name === null ? null : this.#certificate(namespace, { name, host }, signal),
    ]);
    const proven = challenge === null || texts === null ? null : texts.includes(challenge.value);
    return { hasAddress: addresses === null ? null : addresses.length > 0, proven, certificate };
  }

  /** null: the API server did not answer, or rejected the call. */
  async #certificate(
    namespace: string,
    { name, host }: { name: string; host: string },
    signal: AbortSignal,
  ): Promise<CertificateFacts | null> {
    const { client } = this.#options;
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
}
