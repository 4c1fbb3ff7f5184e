import type { InventoryItem, ObservedReport, Report } from '../../../contract/protocol/report-protocol.ts';
import { troublesOf } from '../../../domain/conditions/conditions.ts';
import { contentHash } from '../../../domain/core/hash.ts';

type Outcome = Exclude<Report, ObservedReport>;

/** A part of the outbox on its way to the hub, which has it unless it is told that this has failed. */
export interface ReportDraft {
  reports: Report[];
  /** It has not (as far as is known): they go back, unless something newer has come meanwhile. */
  failed(): void;
}

type Place = Pick<ObservedReport, 'deployment_id' | 'namespace' | 'name'>;

/** Which custom resource it is about. */
const placeOf = ({ deployment_id, namespace, name }: Place) => `${deployment_id} ${namespace}/${name}`;

/** Statuses of one deployment that are kept for a hub that does not listen: of so many changes of its revisions. */
const KEPT_STATUSES = 20;

/**
 * What the hub is to be told of each deployment: newer ones replace older ones, so nothing piles up while the hub is
 * away. A status that tells of other revisions or other trouble than the one after it is kept: it may be all that says that a
 * revision has rolled, or was active, or that there was trouble. Statuses that the hub has already are not sent again.
 */
export class Outbox {
  readonly #outcomes = new Map<string, Outcome>();
  /** By custom resource: somebody's copy of one has its id, too. Oldest first, none empty. */
  readonly #observed = new Map<string, readonly ObservedReport[]>();
  /** Hash of the status that the hub has, or is just being told, by custom resource. */
  readonly #known = new Map<string, string>();
  /** Keys whose inventory line may have changed, each with the line of when it was gone. */
  readonly #touched = new Map<string, InventoryItem | null>();
  #everything = false;
  #content = Promise.withResolvers<void>();
  #urgent = Promise.withResolvers<void>();

  /** How a work item ended. */
  addOutcome(outcome: Outcome): void {
    this.#outcomes.set(outcome.deployment_id, outcome);
    this.#wakeFor(outcome);
  }

  /** @param again also when the hub has it: what it was told since is over */
  addObserved(report: ObservedReport, again = false): void {
    const place = placeOf(report);
    const waiting = this.#observed.get(place);
    if (!again && waiting === undefined && this.#known.get(place) === contentHash(report)) return;
    this.#observed.set(place, withoutRepetitions([...(waiting ?? []), report]));
    this.#wakeFor(report);
  }

  /** A custom resource is gone for good: nothing is remembered of it, and nothing more is told. */
  forget(resource: Place): void {
    this.#observed.delete(placeOf(resource));
    this.#known.delete(placeOf(resource));
  }

  /** The hub should compare this resource with its record. @param gone its line if it is found to be gone */
  touch(key: string, gone: InventoryItem | null): void {
    this.#touched.set(key, gone);
    this.wake();
  }

  /** The hub should compare everything. */
  touchEverything(): void {
    this.#everything = true;
    this.wake();
  }

  get isEmpty(): boolean {
    return this.#outcomes.size + this.#observed.size + this.#touched.size === 0 && !this.#everything;
  }

  /** Resolves when there is something to tell, and with the next `wake`. */
  waitForContent(): Promise<void> {
    return this.isEmpty ? this.#content.promise : Promise.resolve();
  }

  /** There is something to tell that somebody waits for. */
  get isUrgent(): boolean {
    if (this.#touched.size > 0 || this.#everything) return true;
    return [...this.#outcomes.values(), ...[...this.#observed.values()].flat()].some(isUrgent);
  }

  /** Resolves when there is such, and with the next `wake`. */
  waitForUrgent(): Promise<void> {
    return this.isUrgent ? Promise.resolve() : this.#urgent.promise;
  }

  /** Takes out up to `limit` reports, outcomes before statuses: the hub counts as told until it has `failed`. */
  draft(limit: number): ReportDraft | null {
    const outcomes = [...this.#outcomes.values()].slice(0, limit);
    const observed = [...this.#observed.values()].flat().slice(0, limit - outcomes.length);
    if (outcomes.length + observed.length === 0) return null;
    for (const { deployment_id } of outcomes) this.#outcomes.delete(deployment_id);
    const taken = Map.groupBy(observed, placeOf);
    for (const [place, reports] of taken)
      this.#keep(place, this.#observed.get(place)?.slice(reports.length) ?? []);
    // Already now: a status that comes meanwhile may be the one of before again, and is news after this one.
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

  /** Takes out what the inventory is wanted of; `everything` includes the touched ones. */
  takeTouched(): { everything: boolean; touched: Map<string, InventoryItem | null> } {
    const taken = { everything: this.#everything, touched: new Map(this.#touched) };
    this.#everything = false;
    this.#touched.clear();
    return taken;
  }

  /** Ends the present waits. */
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

/** Nobody waits for the word that an item was applied, or how far a rollout is: only for how they end, and for trouble. */
function isUrgent(report: Report): boolean {
  if (report.kind !== 'observed') return report.kind !== 'applied';
  return report.rollout_revision === null || troublesOf(report.conditions).length > 0;
}

/** Without those whose follower tells of the same; the latest of them. */
function withoutRepetitions(reports: readonly ObservedReport[]): readonly ObservedReport[] {
  return reports
    .filter((report, index) => {
      const next = reports[index + 1];
      return next === undefined || newsOf(report) !== newsOf(next);
    })
    .slice(-KEPT_STATUSES);
}

/** What must not be lost of a status although a later one is there: its revisions, and trouble, which the history tells. */
function newsOf({ active_revision, rollout_revision, failed_revision, conditions }: ObservedReport): string {
  const revisions = [active_revision, rollout_revision, failed_revision].map(
    (revision) => revision?.id ?? '',
  );
  return [...revisions, ...troublesOf(conditions).map(({ reason }) => reason)].join();
}
