import type { InventoryItem, ObservedReport, Report } from '../../../contract/protocol/report-protocol.ts';
import { conditionTroubles } from '../../../domain/conditions/conditions.ts';
import { contentHash } from '../../../domain/core/hash.ts';

type Outcome = Exclude<Report, ObservedReport>;

/** A part of the outbox that is being sent. The reports count as delivered unless `failed` is called. */
export interface ReportDraft {
  reports: Report[];
  /**
   * Called when the delivery failed or its result is unknown. The reports return to the outbox unless newer reports
   * exist.
   */
  failed(): void;
}

type Place = Pick<ObservedReport, 'deployment_id' | 'namespace' | 'name'>;

/** Identifies the custom resource of a report. */
const placeOf = ({ deployment_id, namespace, name }: Place) => `${deployment_id} ${namespace}/${name}`;

/** Number of statuses of one deployment that are kept while the hub is not available. */
const KEPT_STATUSES = 20;

/**
 * Reports for the hub, by deployment. Newer reports replace older ones, so the outbox stays small while the hub is not
 * available. A status with other revisions or problems than the next status is kept. Such a status may be the only
 * evidence that a revision rolled out or was active, or of a problem. Statuses that the hub already has are not sent
 * again.
 */
export class Outbox {
  readonly #outcomes = new Map<string, Outcome>();
  /**
   * Statuses by custom resource, because a copy of a resource has the same deployment id. Oldest first, no empty lists.
   */
  readonly #observed = new Map<string, readonly ObservedReport[]>();
  /** Hash of the status that the hub has, or is receiving, by custom resource. */
  readonly #known = new Map<string, string>();
  /** Keys whose inventory item may have changed, each with the item to send if the resource is gone. */
  readonly #touched = new Map<string, InventoryItem | null>();
  #everything = false;
  #content = Promise.withResolvers<void>();
  #urgent = Promise.withResolvers<void>();

  /** Adds the result of a work item. */
  addOutcome(outcome: Outcome): void {
    this.#outcomes.set(outcome.deployment_id, outcome);
    this.#wakeFor(outcome);
  }

  /** @param again sends the status even if the hub has received it, because the hub has discarded it */
  addObserved(report: ObservedReport, again = false): void {
    const place = placeOf(report);
    const waiting = this.#observed.get(place);
    if (!again && waiting === undefined && this.#known.get(place) === contentHash(report)) return;
    this.#observed.set(place, withoutRepetitions([...(waiting ?? []), report]));
    this.#wakeFor(report);
  }

  /**
   * Called when a custom resource was deleted. Drops the state of the resource, and no longer reports this resource.
   */
  forget(resource: Place): void {
    this.#observed.delete(placeOf(resource));
    this.#known.delete(placeOf(resource));
  }

  /**
   * Requests that the hub compares this resource with its record.
   * @param gone the item to send if the resource is gone
   */
  touch(key: string, gone: InventoryItem | null): void {
    this.#touched.set(key, gone);
    this.wake();
  }

  /** Requests that the hub compares all resources. */
  touchEverything(): void {
    this.#everything = true;
    this.wake();
  }

  get isEmpty(): boolean {
    return this.#outcomes.size + this.#observed.size + this.#touched.size === 0 && !this.#everything;
  }

  /** Resolves when a report is waiting, and with the next `wake`. */
  waitForContent(): Promise<void> {
    return this.isEmpty ? this.#content.promise : Promise.resolve();
  }

  /** Whether an urgent report is waiting. */
  get isUrgent(): boolean {
    if (this.#touched.size > 0 || this.#everything) return true;
    return [...this.#outcomes.values(), ...[...this.#observed.values()].flat()].some(isUrgent);
  }

  /** Resolves when an urgent report is waiting, and with the next `wake`. */
  waitForUrgent(): Promise<void> {
    return this.isUrgent ? Promise.resolve() : this.#urgent.promise;
  }

  /**
   * Takes out up to `limit` reports, outcomes before statuses. The reports count as delivered unless `failed` is
   * called.
   */
  draft(limit: number): ReportDraft | null {
    const outcomes = [...this.#outcomes.values()].slice(0, limit);
    const observed = [...this.#observed.values()].flat().slice(0, limit - outcomes.length);
    if (outcomes.length + observed.length === 0) return null;
    for (const { deployment_id } of outcomes) this.#outcomes.delete(deployment_id);
    const taken = Map.groupBy(observed, placeOf);
    for (const [place, reports] of taken)
      this.#keep(place, this.#observed.get(place)?.slice(reports.length) ?? []);
    // The hash is set before the call completes. A status that arrives during the call may equal an earlier status, and
    // still differs from the status that is being sent.
    for (const report of observed) this.#known.set(placeOf(report), contentHash(report));
    return {
      reports: [...outcomes, ...observed],
      failed: () => {
        for (const place of taken.keys()) this.#known.delete(place);
        for (const outcome of outcomes) {
          if (!this.#outcomes.has(outcome.deployment_id)) this.addOutcome(outcome);
        }
        for (const [place, reports] of taken)
          this.#keep(place, [...reports, ...(this.#observed.get(place) ?? [])]);
        this.wake();
      },
    };
  }

  #keep(place: string, reports: readonly ObservedReport[]): void {
    if (reports.length === 0) this.#observed.delete(place);
    else this.#observed.set(place, withoutRepetitions(reports));
  }

  /** Takes out the keys for the inventory. `everything` includes the touched keys. */
  takeTouched(): { everything: boolean; touched: Map<string, InventoryItem | null> } {
    const taken = { everything: this.#everything, touched: new Map(this.#touched) };
    this.#everything = false;
    this.#touched.clear();
    return taken;
  }

  /** Ends the current waits. */
  wake(): void {
    this.#urgent.resolve();
    this.#urgent = Promise.withResolvers();
    this.#wakeForContent();
  }

  #wakeFor(report: Report): void {
    if (isUrgent(report)) this.wake();
    else this.#wakeForContent();
  }

  #wakeForContent(): void {
    this.#content.resolve();
    this.#content = Promise.withResolvers();
  }
}

/** Reports of an applied item or of the progress of a rollout are not urgent. Final results and problems are urgent. */
function isUrgent(report: Report): boolean {
  if (report.kind !== 'observed') return report.kind !== 'applied';
  return report.rollout_revision === null || conditionTroubles(report.conditions).length > 0;
}

/** Drops statuses that the next status makes redundant. Keeps the latest. */
function withoutRepetitions(reports: readonly ObservedReport[]): readonly ObservedReport[] {
  return reports
    .filter((report, index) => {
      const next = reports[index + 1];
      return next === undefined || newsOf(report) !== newsOf(next);
    })
    .slice(-KEPT_STATUSES);
}

/** The part of a status that must not be lost when a later status exists: revisions, and problems for the history. */
function newsOf({ active_revision, rollout_revision, failed_revision, conditions }: ObservedReport): string {
  const revisions = [active_revision, rollout_revision, failed_revision].map(
    (revision) => revision?.id ?? '',
  );
  return [...revisions, ...conditionTroubles(conditions).map(({ reason }) => reason)].join();
}
