import type { WorkItem } from '../contract/listener-protocol.ts';
import type { Logger } from '../domain/logger.ts';
import type { Clock } from '../kube/clock.ts';
import type { Outcome } from '../kube/controller.ts';
import { keyOf } from '../kube/object.ts';
import { WorkQueue } from '../kube/work-queue.ts';
import { type ApplyDeps, applyItem, type StepResult } from './apply.ts';
import type { Outbox } from './outbox.ts';
import { type PurgeDeps, type PurgeMemory, purgeItem } from './purge.ts';
import { Refusal, refusalOf, refusedReport, TermOver } from './refusal.ts';
import type { Term } from './term.ts';

export interface WorkTableOptions {
  deps: Omit<ApplyDeps & PurgeDeps, 'guard'>;
  outbox: Outbox;
  term: Term;
  logger: Logger;
  clock: Clock;
  random: () => number;
}

/** So often a failure that may pass by itself is tried again without a word; then the hub is told and decides. */
const SILENT_RETRIES = 3;

/** The work items of one term: at most one a deployment, the latest, with one worker at a time. */
export class WorkTable {
  readonly queue: WorkQueue;
  readonly #options: WorkTableOptions;
  readonly #items = new Map<string, WorkItem>();
  /** Generation last applied in this term, by deployment. */
  readonly #applied = new Map<string, number>();
  readonly #memory: PurgeMemory = new Map();
  #room = Promise.withResolvers<void>();

  constructor(options: WorkTableOptions) {
    this.#options = options;
    this.queue = new WorkQueue({
      groupOf: (key) => this.#items.get(key)?.tenant_id ?? '',
      clock: options.clock,
      random: options.random,
    });
  }

  /** Items not done yet. */
  get size(): number {
    return this.#items.size;
  }

  /** Takes an item; an older one of the deployment is dropped, and so is the item if it is the older one. */
  add(item: WorkItem): void {
    const key = item.deployment_id;
    const present = this.#items.get(key);
    if (present !== undefined && present.generation > item.generation) return;
    this.#items.set(key, item);
    this.queue.add(key);
  }

  /** Resolves when an item is done, and with the next `wake`. */
  waitForRoom(): Promise<void> {
    return this.#room.promise;
  }

  wake(): void {
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }

  /** Does the item of a deployment. Never throws. */
  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const item = this.#items.get(key);
    if (item === undefined) return { kind: 'settled' };
    try {
      return this.#finish(item, await this.#step(item, signal));
    } catch (error) {
      return this.#fail(item, error);
    }
  }

  #step(item: WorkItem, signal: AbortSignal): Promise<StepResult> {
    const { term } = this.#options;
    const guard = () => {
      if (!term.isValid()) throw new TermOver();
    };
    const deps = { ...this.#options.deps, guard };
    if (item.kind === 'purge') return purgeItem(item, this.#memory, deps, signal);
    const repair = item.generation <= (this.#applied.get(item.deployment_id) ?? 0);
    return applyItem(item, repair, deps, signal);
  }

  #finish(item: WorkItem, result: StepResult): Outcome {
    if (result.kind === 'wait') return { kind: 'requeue', afterMs: result.ms };
    const { deployment_id, generation } = item;
    const { outbox } = this.#options;
    if (result.kind === 'late') {
      // Not applied, so not told to be: the hub sees the later generation, and makes what it wants count as later still.
      outbox.touch(keyOf(item), null);
      this.#drop(item);
      return { kind: 'settled' };
    }
    if (item.kind === 'apply') {
      this.#applied.set(deployment_id, generation);
      outbox.addOutcome({ kind: 'applied', deployment_id, generation });
    } else {
      this.#applied.delete(deployment_id);
      outbox.addOutcome({ kind: 'purged', deployment_id });
    }
    this.#drop(item);
    return { kind: 'settled' };
  }

  #fail(item: WorkItem, error: unknown): Outcome {
    const { term, outbox, logger } = this.#options;
    // Whoever holds the lease now does it.
    if (error instanceof TermOver || !term.isValid()) return { kind: 'settled' };
    const refusal = refusalOf(error) ?? this.#lasting(item, error);
    if (refusal === null) return { kind: 'retry', error };
    const fields = {
      deploymentId: item.deployment_id,
      generation: item.generation,
      retryable: refusal.retryable,
    };
    logger.warn({ ...fields, err: refusal.message }, 'failed to do a work item; the hub is told');
    outbox.addOutcome(refusedReport(item, refusal));
    this.#drop(item);
    return { kind: 'settled' };
  }

  #lasting(item: WorkItem, error: unknown): Refusal | null {
    if (this.queue.failures(item.deployment_id) < SILENT_RETRIES) return null;
    return new Refusal('ReconcileFailed', error instanceof Error ? error.message : String(error), true);
  }

  /** Unless a newer item has taken its place. */
  #drop(item: WorkItem): void {
    if (this.#items.get(item.deployment_id) === item) this.#items.delete(item.deployment_id);
    this.wake();
  }
}
