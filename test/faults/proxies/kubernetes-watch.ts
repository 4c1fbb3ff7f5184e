/** Passes a watch on line by line, so that rules can drop its events and end it. */
import type { IncomingMessage } from 'node:http';
import { LineSplitter } from '../../../src/cluster/kube/transport/json-lines.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { KubernetesFault, KubernetesRequest, WatchEvent } from './kubernetes-traffic.ts';
import { callRule, type RuleInForce } from './rules.ts';

export type WatchFault = Extract<KubernetesFault, { kind: 'filter-watch' | 'cut-watch' }>;
type CutWatch = Extract<WatchFault, { kind: 'cut-watch' }>;

export const isWatchFault = (fault: KubernetesFault | undefined): fault is WatchFault =>
  fault?.kind === 'filter-watch' || fault?.kind === 'cut-watch';

interface AttachedRule {
  readonly rule: RuleInForce<KubernetesRequest, KubernetesFault>;
  readonly fault: WatchFault;
  /** Events that passed since the rule was attached, not counting bookmarks. */
  passed: number;
}

const GONE_EVENT = `${JSON.stringify({
  type: 'ERROR',
  object: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'too old resource version',
    reason: 'Expired',
    code: 410,
  },
})}\n`;

export class OpenWatch {
  readonly #exchange: HttpExchange<KubernetesRequest>;
  readonly #answer: IncomingMessage;
  #attached: AttachedRule[] = [];
  #cut = false;

  constructor(exchange: HttpExchange<KubernetesRequest>, answer: IncomingMessage) {
    this.#exchange = exchange;
    this.#answer = answer;
  }

  get request(): KubernetesRequest {
    return this.#exchange.request;
  }

  /** Applies the rule to the events of the watch from now on. */
  attach(rule: RuleInForce<KubernetesRequest, KubernetesFault>): void {
    if (!isWatchFault(rule.fault)) return;
    const attached = { rule, fault: rule.fault, passed: 0 };
    this.#attached = [attached, ...this.#attached];
    if (isDue(attached)) this.#end(attached.fault);
  }

  /** Passes events on until the API server, the client or a rule ends the watch. */
  async run(): Promise<void> {
    const lines: string[] = [];
    const splitter = new LineSplitter((line) => lines.push(line));
    try {
      for await (const chunk of this.#answer) {
        splitter.push(chunk as Buffer);
        for (const line of lines.splice(0)) if (!this.#cut) await this.#pass(line);
      }
    } catch (error) {
      // After a cut, the error comes from destroying the response.
      if (!this.#cut) throw error;
    }
    if (!this.#cut) this.#exchange.finish();
  }

  async #pass(line: string): Promise<void> {
    this.#attached = this.#attached.filter(({ rule }) => !rule.removed);
    if (this.#attached.length === 0) return this.#exchange.write(`${line}\n`);
    const event = JSON.parse(line) as WatchEvent;
    for (const { fault } of this.#attached)
      if (fault.kind === 'filter-watch' && callRule(() => fault.drop(event))) return;
    const counts = event.type !== 'BOOKMARK';
    for (const attached of this.#attached)
      if (counts && isMidLine(attached)) {
        await this.#exchange.write(line.slice(0, line.length / 2));
        return this.#end(attached.fault);
      }
    await this.#exchange.write(`${line}\n`);
    if (!counts) return;
    for (const attached of this.#attached) {
      attached.passed += 1;
      if (isDue(attached)) return this.#end(attached.fault);
    }
  }

  #end(fault: WatchFault): void {
    if (this.#cut) return;
    this.#cut = true;
    const { how, onCut } = fault as CutWatch;
    if (how === 'reset') this.#exchange.reset();
    else {
      // Not awaited, because nothing follows.
      if (how === 'gone-event') this.#exchange.write(GONE_EVENT).catch(() => undefined);
      this.#exchange.finish();
    }
    this.#answer.destroy();
    callRule(() => onCut?.(this.request));
  }
}

/** Whether all events before the cut have passed, for a cut between two lines. */
function isDue({ fault, passed }: AttachedRule): boolean {
  return fault.kind === 'cut-watch' && fault.how !== 'mid-line' && passed >= fault.afterEvents;
}

/** Whether the next event is to be cut in its middle. */
function isMidLine({ fault, passed }: AttachedRule): boolean {
  return fault.kind === 'cut-watch' && fault.how === 'mid-line' && passed >= fault.afterEvents;
}
