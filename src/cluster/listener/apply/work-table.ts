import type { WorkItem } from '../../../contract/protocol/work-protocol.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { type Logger, withFields } from '../../../domain/core/logger.ts';
import type { RecordSpan } from '../../../domain/core/span.ts';
import type { DeletionHold } from '../../../domain/deployment/deletion-hold.ts';
import type { Clock } from '../../kube/client/clock.ts';
import { keyOf } from '../../kube/client/object.ts';
import type { ReconcileOutcome } from '../../kube/queue/controller.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import { Refusal, refusalOf, refusedReport, TermOver } from '../refusal.ts';
import { observedReport } from '../report/observe.ts';
import type { Outbox } from '../report/outbox.ts';
import { lacksEnvironment } from '../resource-view.ts';
import type { Term } from '../session/term.ts';
import { type ApplyDeps, applyItem, type StepResult } from './apply.ts';
import { type PurgeDeps, type PurgeMemory, purgeItem } from './purge.ts';
import type { ResourceLocks } from './resource-locks.ts';

export interface WorkTableOptions {
  deps: Omit<ApplyDeps & PurgeDeps, 'guard'>;
  /** Locks that the removal of volumes also holds. */
  locks: ResourceLocks;
  outbox: Outbox;
  term: Term;
  span?: RecordSpan;
  logger: Logger;
  clock: Clock;
  random: () => number;
}

/**
 * Number of retries of a transient failure that are not reported. After these retries, the listener reports the failure
 * to the hub, which decides.
 */
const SILENT_RETRIES = 3;

/**
 * Maximum number of concurrent items of one tenant. Less than `ITEMS_AT_ONCE`, so that a worker is free for another
 * tenant.
 */
export const ITEMS_OF_ONE_TENANT = 12;

const NO_HOLD = {
  reason: 'BeingDeleted',
  message: 'the remaining objects are being deleted',
} as const satisfies { reason: Reason; message: string };

const errorText = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Identifies the change at the hub, with the same field names as the log lines of hub and operator. */
function changeOf(item: WorkItem): object {
  const { deployment_id: deploymentId, generation, namespace, name } = item;
  const revisionId = item.kind === 'apply' ? item.spec.revision?.id : undefined;
  return { deploymentId, generation, revisionId, resource: `${namespace}/${name}` };
}

/** The work items of one term: the latest item of each deployment, with one worker at a time. */
export class WorkTable {
  readonly queue: WorkQueue;
  readonly #options: WorkTableOptions;
  readonly #items = new Map<string, WorkItem>();
  /** Deployments whose item waits for another operation in the cluster, or for a retry. */
  readonly #resting = new Set<string>();
  /** Generation last applied in this term, by deployment. */
  readonly #applied = new Map<string, number>();
  /** Deployments whose last report to the hub was that of a rejected item. */
  readonly #refused = new Set<string>();
  readonly #memory: PurgeMemory = new Map();
  /** The hold of a purge that was last reported to the hub, by deployment. */
  readonly #holds = new Map<string, string>();
  #slotFreed = Promise.withResolvers<void>();

  constructor(options: WorkTableOptions) {
    this.#options = options;
    this.queue = new WorkQueue({
      tenantOf: (key) => this.#items.get(key)?.tenant_id ?? '',
      perTenant: ITEMS_OF_ONE_TENANT,
      clock: options.clock,
      random: options.random,
    });
  }

  /** Number of unfinished items. */
  get size(): number {
    return this.#items.size;
  }

  /** Number of unfinished items that a worker has, or gets now. */
  get busy(): number {
    return this.#items.size - this.#resting.size;
  }

  /** Whether an item of this table removes the deployment. */
  isPurging(deploymentId: string): boolean {
    return this.#items.get(deploymentId)?.kind === 'purge';
  }

  /** Adds an item. Of two items for one deployment, the older item is dropped. */
  add(item: WorkItem): void {
    const key = item.deployment_id;
    const present = this.#items.get(key);
    if (present !== undefined && present.generation > item.generation) return;
    this.#items.set(key, item);
    this.#resting.delete(key);
    this.queue.add(key);
  }

  /**
   * Returns the resting purge with the most checks to the hub, which hands unreported items out again after a minute.
   * @returns false when no purge rests
   */
  putBack(): boolean {
    const checks = (key: string) => this.#memory.get(key)?.checks ?? 0;
    const purges = [...this.#resting].filter((key) => this.#items.get(key)?.kind === 'purge');
    const [key] = purges.toSorted((a, b) => checks(b) - checks(a));
    if (key === undefined) return false;
    this.#items.delete(key);
    this.#resting.delete(key);
    return true;
  }

  /** Resolves when an item is done or must wait, and with the next `wake`. */
  waitForSlot(): Promise<void> {
    return this.#slotFreed.promise;
  }

  wake(): void {
    this.#slotFreed.resolve();
    this.#slotFreed = Promise.withResolvers();
  }

  /** Processes the item of a deployment. Never throws. */
  async reconcile(key: string, signal: AbortSignal, reconcileId?: string): Promise<ReconcileOutcome> {
    const item = this.#items.get(key);
    if (item === undefined) return { kind: 'settled' };
    this.#resting.delete(key);
    const logger = withFields(this.#options.logger, { reconcileId, ...changeOf(item) });
    const endSpan = this.#spanOf(item, reconcileId);
    try {
      const { locks } = this.#options;
      const result = await locks.run(keyOf(item), () => this.#step(item, logger, signal));
      if (result.kind !== 'wait') endSpan();
      return this.#finish(item, result, logger);
    } catch (error) {
      endSpan(error);
      return this.#fail(item, error, logger);
    }
  }

  /** Starts a span. The returned function ends the span. */
  #spanOf(item: WorkItem, reconcileId: string | undefined): (error?: unknown) => void {
    const { span } = this.#options;
    if (span === undefined) return () => undefined;
    const { deployment_id: deploymentId, generation, kind } = item;
    const revisionId = item.kind === 'apply' ? item.spec.revision?.id : undefined;
    const beganAt = Date.now();
    return (error) =>
      span({
        name: kind,
        change: { deploymentId, generation },
        attributes: { 'berth.revision_id': revisionId, 'berth.reconcile_id': reconcileId },
        beganAt,
        endedAt: Date.now(),
        error: error === undefined ? undefined : errorText(error),
      });
  }

  #step(item: WorkItem, logger: Logger, signal: AbortSignal): Promise<StepResult> {
    const { term } = this.#options;
    const guard = () => {
      // guard: listener-checks-lease-before-writes
      if (!term.isValid()) throw new TermOver();
    };
    const deps = { ...this.#options.deps, logger, guard };
    if (item.kind === 'purge') return purgeItem(item, this.#memory, deps, signal);
    const isAgain = item.generation <= (this.#applied.get(item.deployment_id) ?? 0);
    const live = deps.view.get(item.namespace, item.name);
    // The cache of existing Secrets may be from an earlier term, and a Secret may have been lost since then.
    const repair = isAgain || (live !== undefined && lacksEnvironment(live));
    return applyItem(item, repair, deps, signal);
  }

  #finish(item: WorkItem, result: StepResult, logger: Logger): ReconcileOutcome {
    const { deployment_id, generation } = item;
    if (result.kind === 'wait') {
      if (item.kind === 'purge') this.#reportHold(item, result.hold);
      this.#rest(item);
      return { kind: 'requeue', afterMs: result.ms };
    }
    const { outbox } = this.#options;
    logger.info({ kind: item.kind, result: result.kind }, 'processed a work item');
    if (result.kind === 'late') {
      // The item was not applied, so it is not reported as applied. The hub receives the later generation, and raises
      // the generation of its desired state above it.
      outbox.touch(keyOf(item), null);
      this.#drop(item);
      return { kind: 'settled' };
    }
    if (item.kind === 'apply') {
      this.#applied.set(deployment_id, generation);
      const gone = result.gone?.length ? { gone_env_revisions: [...result.gone] } : {};
      const version = item.work_version === undefined ? {} : { work_version: item.work_version };
      outbox.addOutcome({ kind: 'applied', deployment_id, generation, ...version, ...gone });
      this.#resendStatus(item);
    } else {
      this.#applied.delete(deployment_id);
      this.#holds.delete(deployment_id);
      outbox.addOutcome({ kind: 'purged', deployment_id });
    }
    this.#drop(item);
    return { kind: 'settled' };
  }

  /** Reports what blocks a purge, if this changed since the last report. The item is kept. */
  #reportHold(item: WorkItem, hold: DeletionHold | undefined): void {
    const before = this.#holds.get(item.deployment_id);
    if (hold === undefined && before === undefined) return;
    const { reason, message } = hold ?? NO_HOLD;
    if (before === message) return;
    this.#holds.set(item.deployment_id, message);
    this.#options.outbox.addOutcome({
      ...refusedReport(item, new Refusal(reason, message, true)),
      waiting: true,
    });
  }

  #fail(item: WorkItem, error: unknown, logger: Logger): ReconcileOutcome {
    const { term, outbox } = this.#options;
    // The term is over, so the current lease holder processes the item.
    if (error instanceof TermOver || !term.isValid()) return { kind: 'settled' };
    const refusal = refusalOf(error) ?? this.#lasting(item, error);
    if (refusal === null) {
      this.#rest(item);
      return { kind: 'retry', error };
    }
    const { retryable, message } = refusal;
    logger.warn({ retryable, err: message }, 'failed to apply a work item; reported to the hub');
    outbox.addOutcome(refusedReport(item, refusal));
    // The hub now shows the refusal instead of the hold.
    this.#holds.delete(item.deployment_id);
    this.#refused.add(item.deployment_id);
    this.#drop(item);
    return { kind: 'settled' };
  }

  /**
   * Sends the status again, even if it is unchanged, because the hub discarded the reported status when it received the
   * refusal.
   */
  #resendStatus(item: WorkItem): void {
    if (!this.#refused.delete(item.deployment_id)) return;
    const resource = this.#options.deps.view.get(item.namespace, item.name);
    const report = resource === undefined ? null : observedReport(resource);
    if (report !== null) this.#options.outbox.addObserved(report, true);
  }

  #lasting(item: WorkItem, error: unknown): Refusal | null {
    if (this.queue.failures(item.deployment_id) < SILENT_RETRIES) return null;
    return new Refusal('ReconcileFailed', errorText(error), true);
  }

  /** Has no effect if a newer item has replaced the item. */
  #rest(item: WorkItem): void {
    if (this.#items.get(item.deployment_id) === item) this.#resting.add(item.deployment_id);
    this.wake();
  }

  /** Has no effect if a newer item has replaced the item. */
  #drop(item: WorkItem): void {
    if (this.#items.get(item.deployment_id) === item) this.#items.delete(item.deployment_id);
    this.wake();
  }
}
