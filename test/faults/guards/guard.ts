/** What a guard is: a line of the code without which some fault plan breaks. */

/** Rules of the code, as docs/reliability.md and the decisions have them. */
export const GUARD_RULES = {
  memory: 'memory is only a cache',
  'compare-and-set': 'writes to PostgreSQL are compare-and-set',
  fence: 'a lease is for liveness only, and writes are fenced',
  cache: 'no action is based on an old cache, and Berth takes over only its own objects',
  outcome: 'each call has a typed outcome, which decides when it is retried',
  durable: 'an acknowledged change is durable and is carried out once',
} as const;
export type GuardRule = keyof typeof GUARD_RULES;

/** One precondition, fence, retry, compare-and-set or look at a cache's age, with the patch that takes it out. */
export interface Guard {
  /** Unique, kebab-case. */
  readonly name: string;
  readonly rule: GuardRule;
  /** What it keeps from happening, in one sentence. */
  readonly says: string;
  /** Path below the checkout. */
  readonly file: string;
  /** Is found in the file exactly once: a patch that does not apply any more is noticed. */
  readonly find: string;
  readonly replace: string;
  /** Names of plans; each breaks without it. They are tried in this order, until one has. */
  readonly plans: readonly string[];
}
