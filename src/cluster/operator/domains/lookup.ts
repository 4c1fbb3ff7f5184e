import { isDeepStrictEqual } from 'node:util';
import type { HostFacts } from './observed-host.ts';

/** The lookups of one host: what to ask, what is known, and when to ask again. Times are ms of the monotonic clock. */

/** What to look up for one host. */
export interface HostQuestion {
  readonly host: string;
  /** The TXT record that must exist; null: no proof is needed, or it was found before. */
  readonly challenge: { readonly name: string; readonly value: string } | null;
  /** Name of the Certificate of cert-manager; null: none is expected. */
  readonly certificate: string | null;
}

export interface LookupIntervals {
  /** Time between two lookups of a host that lacks nothing. */
  readonly settledMs: number;
  /** First pause while something is missing. The pause doubles until `slowestMs`. */
  readonly firstMs: number;
  readonly slowestMs: number;
}

/** Number of lookups in a row without an answer after which the former answer counts as unknown. */
const MAX_FAILURES = 2;

/** Number of changes of a question that are looked up at once. Further changes wait for `firstMs` after the last lookup. */
const MAX_HURRIED = 3;

/** Facts that are older than this number of the longest intervals count as unknown. */
const MAX_AGE = 2;

export const NOTHING_KNOWN: HostFacts = { hasAddress: null, proven: null, certificate: null };

export interface Lookup {
  question: HostQuestion;
  facts: HostFacts | undefined;
  /** When `facts` were observed. Before the first result, when the host was added. */
  observedAt: number;
  /** The last result, without texts. */
  result: string;
  /** Number of lookups in a row with the same result. */
  repeats: number;
  failures: number;
  /** Number of changes of the question since two lookups in a row had the same result. */
  changes: number;
  lacksNothing: boolean;
  /** When the last lookup was requested. */
  askedAt: number;
  /** When the last lookup called the DNS server, which may be later, or never if it was postponed. */
  startedAt: number;
  dueAt: number;
  /** When the caller returns if nothing is reported before. */
  returnsAt: number;
  /** Cancels the lookup that is waiting or running; null: no lookup is. */
  running: AbortController | null;
}

/** The lookup of a host. A changed question keeps a running lookup, so that a host never has two. */
export function lookupFor(
  before: Lookup | undefined,
  question: HostQuestion,
  now: number,
  { firstMs }: LookupIntervals,
): Lookup {
  if (before === undefined) return newLookup(question, now);
  if (isDeepStrictEqual(before.question, question)) return before;
  const { facts, question: former, changes, askedAt } = before;
  const isHurried = changes < MAX_HURRIED;
  return Object.assign(before, {
    question,
    facts: facts && {
      hasAddress: facts.hasAddress,
      // A proof counts only for the value that was looked up.
      proven: former.challenge?.value === question.challenge?.value ? facts.proven : null,
      certificate: former.certificate === question.certificate ? facts.certificate : null,
    },
    result: '',
    repeats: 0,
    failures: 0,
    changes: changes + 1,
    lacksNothing: false,
    dueAt: isHurried ? now : Math.max(now, askedAt + firstMs),
  });
}

function newLookup(question: HostQuestion, now: number): Lookup {
  return {
    question,
    facts: undefined,
    observedAt: now,
    result: '',
    repeats: 0,
    failures: 0,
    changes: 0,
    lacksNothing: false,
    askedAt: Number.NEGATIVE_INFINITY,
    startedAt: Number.NEGATIVE_INFINITY,
    dueAt: now,
    returnsAt: now,
    running: null,
  };
}

/** When the facts are too old. */
const expiryOf = ({ observedAt }: Lookup, { settledMs, slowestMs }: LookupIntervals) =>
  observedAt + MAX_AGE * Math.max(settledMs, slowestMs) + 1;

/** The facts of a host. Old facts are not current, for example because all lookups wait during an outage of the DNS. */
export function currentFacts(lookup: Lookup, now: number, intervals: LookupIntervals): HostFacts | undefined {
  return now >= expiryOf(lookup, intervals) ? NOTHING_KNOWN : lookup.facts;
}

/** When the caller has to return, because the host is looked up again or its facts expire. Notes the former. */
export function returnAt(lookup: Lookup, now: number, intervals: LookupIntervals): number {
  const { running, dueAt, askedAt, lacksNothing, repeats } = lookup;
  const pauseMs = pauseOf({ lacksNothing, repeats: repeats + 1 }, intervals);
  const expected = askedAt + pauseMs;
  lookup.returnsAt = running === null ? dueAt : expected > now ? expected : now + pauseMs;
  const expiresAt = expiryOf(lookup, intervals);
  return expiresAt > now ? Math.min(lookup.returnsAt, expiresAt) : lookup.returnsAt;
}

function pauseOf(
  { lacksNothing, repeats }: Pick<Lookup, 'lacksNothing' | 'repeats'>,
  { settledMs, firstMs, slowestMs }: LookupIntervals,
): number {
  return lacksNothing ? settledMs : Math.min(slowestMs, firstMs * 2 ** Math.min(repeats, 16));
}

/**
 * Notes the result for a question.
 * @returns whether the caller has to return before it intends to
 */
export function noteResult(
  lookup: Lookup,
  question: HostQuestion,
  found: HostFacts,
  now: number,
  intervals: LookupIntervals,
): boolean {
  // The question has changed meanwhile, and is due.
  if (!isDeepStrictEqual(lookup.question, question)) return true;
  const { challenge, certificate } = question;
  const isAnswered = found.hasAddress !== null && (challenge === null || found.proven !== null);
  lookup.failures = isAnswered ? 0 : lookup.failures + 1;
  lookup.lacksNothing =
    isAnswered &&
    found.hasAddress === true &&
    (challenge === null || found.proven === true) &&
    (certificate === null || found.certificate?.ready === true);
  const result = JSON.stringify([found.hasAddress, found.proven, found.certificate?.ready]);
  lookup.repeats = result === lookup.result ? lookup.repeats + 1 : 0;
  if (lookup.repeats > 0) lookup.changes = 0;
  lookup.result = result;
  const pauseMs = pauseOf(lookup, intervals);
  lookup.dueAt = Math.max(lookup.askedAt + pauseMs, now + Math.min(pauseMs, intervals.firstMs));
  const { facts: former } = lookup;
  const keepsFormer = !isAnswered && lookup.failures < MAX_FAILURES && former !== undefined;
  if (!keepsFormer) {
    lookup.facts = found;
    lookup.observedAt = now;
  }
  return !isDeepStrictEqual(lookup.facts, former) || lookup.dueAt < lookup.returnsAt;
}
