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
  /** Fires: send what is there, then end. */
  draining: AbortSignal;
}

/** After a call: what comes of many deployments meanwhile goes with the next one, and costs the hub one transaction. */
const GATHER_MS = 40;
/** Call after call, each carries more: it costs the hub a transaction and its disk a commit, however much is in it. */
const PACE: Rate = { perSecond: 4, burst: 8 };
/**
 * The word that an item was applied, and how far a rollout is, go along with what mostly follows, if that comes within this
 * time: told at once, they would take hub and disk just when the operator writes what somebody waits for.
 */
const COMPANY_MS = 250;
const RETRY = { baseMs: 200, capMs: 10_000 };
/** Then the hub is asked anew whether it knows more. */
const AS_BEFORE_MS = 60_000;

/**
 * Tells the hub, one call at a time: the inventory is then never older than a report that was sent before it, so the
 * hub cannot take a resource for missing that it was just told of.
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
      await backOff('tell the hub', error, failures, RETRY, options, term.lost);
    }
  }
}

interface Waits extends Pick<SenderOptions, 'outbox' | 'clock'> {
  readonly pace: TokenBuckets;
  /** Fires: there is no time to wait. */
  readonly ended: AbortSignal;
}

/** Resolves when what there is to tell has waited for company, and the pace allows a call. */
async function untilDue({ outbox, clock, pace, ended }: Waits): Promise<void> {
  if (!ended.aborted) {
    const over = new AbortController();
    // The end wakes the outbox.
    await Promise.race([outbox.waitForUrgent(), sleep(clock, COMPANY_MS, over.signal)]);
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
  /** Until then, on the monotonic clock, reports are as the version before has them. */
  #asBeforeUntil = 0;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  async sendSome(): Promise<void> {
    const draft = this.#options.outbox.draft(MAX_REPORTS);
    if (draft !== null) await this.#sendReports(draft);
    // What is there comes after how it fares: a hub that nobody had told takes that for seen with the inventory.
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
    const told = performance.now() < this.#asBeforeUntil ? reports.map(asBefore) : reports;
    const answer = await hub.reports(
      { epoch: term.epoch, seq: this.#seq, reports: told },
      { signal: term.lost },
    );
    if (answer.inventory_wanted === true) outbox.touchEverything();
  }

  /** One report that the hub does not take must not keep back the others. */
  async #sendOneByOne(reports: readonly Report[]): Promise<void> {
    for (const report of reports) {
      try {
        await this.#post([report]).catch((error) => this.#postAsBefore(report, error));
      } catch (error) {
        if (!isRefused(error)) throw error;
        const fields = { deploymentId: report.deployment_id, kind: report.kind, err: error.message };
        this.#options.logger.error(fields, 'the hub refused a report; it is dropped');
      }
    }
  }

  /** During an upgrade the hub may be of the version before, for a while: what it knows of a report it takes. */
  async #postAsBefore(report: Report, refusal: unknown): Promise<void> {
    const before = asBefore(report);
    const isLater = Object.keys(before).length < Object.keys(report).length;
    if (!isRefused(refusal) || !isLater || performance.now() < this.#asBeforeUntil) throw refusal;
    await this.#post([before]);
    this.#asBeforeUntil = performance.now() + AS_BEFORE_MS;
    this.#options.logger.info({}, 'the hub is of an earlier version: reports are as it knows them');
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
      this.#tellUnknown(unknown);
    } catch (error) {
      if (everything) outbox.touchEverything();
      for (const [key, gone] of touched) outbox.touch(key, gone);
      throw error;
    }
  }

  /** The line of now: what was edited may have been put back, what was gone may be there again. */
  #line(key: string, gone: InventoryItem | null): InventoryItem | null {
    const { namespace = '', name } = parseKey(key);
    const resource = this.#options.view.get(namespace, name);
    return resource === undefined ? gone : inventoryItem(resource);
  }

  #tellUnknown(unknown: readonly string[]): void {
    for (const deploymentId of unknown) {
      if (this.#unknown.has(deploymentId)) continue;
      this.#unknown.add(deploymentId);
      this.#options.logger.warn(
        { deploymentId },
        'the cluster holds a ManagedDeployment with an id that the hub does not know; it is left alone',
      );
    }
  }
}
