import {
  asBefore,
  type InventoryItem,
  MAX_REPORTS,
  type Report,
} from '../../../contract/protocol/report-protocol.ts';
import { type Rate, TokenBuckets } from '../../../domain/scheduling/token-buckets.ts';
import { sleep } from '../../kube/client/clock.ts';
import { parseKey } from '../../kube/client/object.ts';
import type { ResourceView } from '../resource-view.ts';
import { backOff, type HubFailureOptions } from '../session/hub-backoff.ts';
import { type HubClient, HubError } from '../session/hub-client.ts';
import { inventoryItem } from './observe.ts';
import type { Outbox, ReportDraft } from './outbox.ts';

export interface SenderOptions extends HubFailureOptions {
  hub: Pick<HubClient, 'reports' | 'inventory'>;
  outbox: Outbox;
  view: Pick<ResourceView, 'list' | 'get' | 'listed'>;
  /** Fires to end the sender after it has sent the waiting reports. */
  draining: AbortSignal;
}

/**
 * Pause after a call, so that reports that arrive during the pause share the next call and one transaction of the hub.
 */
const GATHER_MS = 40;
/**
 * Rate limit of calls. Under load, each call contains more reports, because a call of any size costs the hub one
 * transaction and one commit.
 */
const PACE: Rate = { perSecond: 4, burst: 8 };
/**
 * Time that reports wait if they are not urgent, so that they share a call. Immediate reports would load hub and
 * database just when the operator writes the results that users wait for.
 */
const BATCH_WAIT_MS = 250;
const RETRY = { baseMs: 200, capMs: 10_000 };
/** Interval at which the sender tries whether the hub accepts the current format of reports. */
const LEGACY_FORMAT_MS = 60_000;

/**
 * Sends reports with one call at a time. With one call at a time, an inventory is never older than an earlier report,
 * and the hub cannot consider a resource missing that was just reported.
 */
export async function runSender(options: SenderOptions): Promise<void> {
  const { outbox, term, draining } = options;
  const sender = new Sender(options);
  const ended = AbortSignal.any([term.lost, draining]);
  for (const end of [term.lost, draining]) {
    end.addEventListener('abort', () => outbox.wake(), { once: true });
  }
  const waits = { outbox, clock: options.clock, pace: new TokenBuckets(PACE, 1), ended };
  let failures = 0;
  while (!term.lost.aborted) {
    if (outbox.isEmpty) {
      if (draining.aborted) return;
      await outbox.waitForContent();
      continue;
    }
    await untilDue(waits);
    try {
      await sender.sendSome();
      failures = 0;
      await sleep(options.clock, GATHER_MS, ended);
    } catch (error) {
      failures += 1;
      await backOff('send reports to the hub', error, failures, RETRY, options, term.lost);
    }
  }
}

interface Waits extends Pick<SenderOptions, 'outbox' | 'clock'> {
  readonly pace: TokenBuckets;
  /** Fires to end the wait. */
  readonly ended: AbortSignal;
}

/** Resolves when the waiting reports are due and the rate limit allows a call. */
async function untilDue({ outbox, clock, pace, ended }: Waits): Promise<void> {
  if (!ended.aborted) {
    const over = new AbortController();
    // Wakes the outbox at the end of the wait.
    await Promise.race([outbox.waitForUrgent(), sleep(clock, BATCH_WAIT_MS, over.signal)]);
    over.abort();
  }
  while (!ended.aborted) {
    const waitSeconds = pace.take('', clock.now());
    if (waitSeconds === 0) return;
    await sleep(clock, waitSeconds * 1000, ended);
  }
}

function isRefused(error: unknown): error is HubError {
  return error instanceof HubError && error.kind === 'refused';
}

class Sender {
  readonly #options: SenderOptions;
  readonly #unknown = new Set<string>();
  #seq = 0;
  /** Time on the monotonic clock until which reports are sent in the format of the previous version. */
  #legacyFormatUntil = 0;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  async sendSome(): Promise<void> {
    const draft = this.#options.outbox.draft(MAX_REPORTS);
    if (draft !== null) await this.#sendReports(draft);
    // Statuses are sent before the inventory, because the inventory alone would mark a resource as observed without a
    // status.
    if (draft === null || draft.reports.length < MAX_REPORTS) await this.#sendInventory();
  }

  async #sendReports(draft: ReportDraft): Promise<void> {
    try {
      await this.#post(draft.reports).catch((error) => {
        if (!isRefused(error)) throw error;
        return this.#sendOneByOne(draft.reports);
      });
    } catch (error) {
      draft.failed();
      throw error;
    }
  }

  async #post(reports: Report[]): Promise<void> {
    const { hub, term, outbox } = this.#options;
    this.#seq += 1;
    const sent = performance.now() < this.#legacyFormatUntil ? reports.map(asBefore) : reports;
    const answer = await hub.reports(
      { epoch: term.epoch, seq: this.#seq, reports: sent },
      { signal: term.lost },
    );
    if (answer.inventory_wanted === true) outbox.touchEverything();
  }

  /** A report that the hub rejects must not block other reports. */
  async #sendOneByOne(reports: readonly Report[]): Promise<void> {
    for (const report of reports) {
      try {
        await this.#post([report]).catch((error) => this.#postInLegacyFormat(report, error));
      } catch (error) {
        if (!isRefused(error)) throw error;
        const fields = { deploymentId: report.deployment_id, kind: report.kind, err: error.message };
        this.#options.logger.error(fields, 'the hub rejected a report; it is dropped');
      }
    }
  }

  /**
   * During an upgrade, the hub may still run the previous version. A hub of the previous version receives the part of
   * the report that it knows.
   */
  async #postInLegacyFormat(report: Report, refusal: unknown): Promise<void> {
    const before = asBefore(report);
    const isLater = JSON.stringify(before) !== JSON.stringify(report);
    if (!isRefused(refusal) || !isLater || performance.now() < this.#legacyFormatUntil) throw refusal;
    await this.#post([before]);
    this.#legacyFormatUntil = performance.now() + LEGACY_FORMAT_MS;
    this.#options.logger.info({}, 'the hub has an earlier version; sending reports in its format');
  }

  async #sendInventory(): Promise<void> {
    const { hub, term, outbox, view, logger } = this.#options;
    const { everything, touched } = outbox.takeTouched();
    if (!everything && touched.size === 0) return;
    try {
      const namespaces = everything ? view.listed() : null;
      const items = everything
        ? view.list().map(inventoryItem)
        : [...touched].map(([key, gone]) => this.#line(key, gone));
      const known = items.filter((item) => item !== null);
      if (known.length === 0 && !everything) return;
      const { due, unknown } = await hub.inventory(
        {
          epoch: term.epoch,
          complete: everything,
          items: known,
          ...(namespaces === null ? {} : { namespaces }),
        },
        { signal: term.lost },
      );
      if (due > 0) logger.info({ due }, 'the hub found differences in the inventory');
      this.#logUnknown(unknown);
    } catch (error) {
      if (everything) outbox.touchEverything();
      for (const [key, gone] of touched) outbox.touch(key, gone);
      throw error;
    }
  }

  /** The current item is read again, because an edit may have been reverted, and a deleted resource may exist again. */
  #line(key: string, gone: InventoryItem | null): InventoryItem | null {
    const { namespace = '', name } = parseKey(key);
    const resource = this.#options.view.get(namespace, name);
    return resource === undefined ? gone : inventoryItem(resource);
  }

  #logUnknown(unknown: readonly string[]): void {
    for (const deploymentId of unknown) {
      if (this.#unknown.has(deploymentId)) continue;
      this.#unknown.add(deploymentId);
      this.#options.logger.warn(
        { deploymentId },
        'the cluster has a ManagedDeployment with an id that the hub does not know; the listener does not change it',
      );
    }
  }
}
