/** A watch through the proxy, line by line, so that rules can drop events and end it. */
import type { IncomingMessage } from 'node:http';
import { LineSplitter } from '../../../src/cluster/kube/transport/json-lines.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { KubernetesFault, KubernetesRequest, WatchEvent } from './kubernetes-traffic.ts';
import { callRule, type RuleInForce } from './rules.ts';

export type WatchFault = Extract<KubernetesFault, { kind: 'filter-watch' | 'cut-watch' }>;
type CutWatch = Extract<WatchFault, { kind: 'cut-watch' }>;

export const isWatchFault = (fault: KubernetesFault | undefined): fault is WatchFault =>
  fault?.kind === 'filter-watch' || fault?.kind === 'cut-watch';

interface Looking {
  readonly rule: RuleInForce<KubernetesRequest, KubernetesFault>;
  readonly fault: WatchFault;
  /** Events passed since the rule took the watch, bookmarks not counted. */
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
  #looking: Looking[] = [];
  #cut = false;

  constructor(exchange: HttpExchange<KubernetesRequest>, answer: IncomingMessage) {
    this.#exchange = exchange;
    this.#answer = answer;
  }

  get request(): KubernetesRequest {
    return this.#exchange.request;
  }

  /** From now on this rule, which has taken the watch, looks at its events too. */
  attach(rule: RuleInForce<KubernetesRequest, KubernetesFault>): void {
    if (!isWatchFault(rule.fault)) return;
    const looking = { rule, fault: rule.fault, passed: 0 };
    this.#looking = [looking, ...this.#looking];
    if (isDue(looking)) this.#end(looking.fault);
  }

  /** Passes events on until the API server, the client or a rule ends it. */
  async run(): Promise<void> {
    const lines: string[] = [];
    const splitter = new LineSplitter((line) => lines.push(line));
    try {
      for await (const chunk of this.#answer) {
        splitter.push(chunk as Buffer);
        for (const line of lines.splice(0)) if (!this.#cut) await this.#pass(line);
      }
    } catch (error) {
      // Its own doing: the answer was destroyed.
      if (!this.#cut) throw error;
    }
    if (!this.#cut) this.#exchange.finish();
  }

  async #pass(line: string): Promise<void> {
    this.#looking = this.#looking.filter(({ rule }) => !rule.removed);
    if (this.#looking.length === 0) return this.#exchange.write(`${line}\n`);
    const event = JSON.parse(line) as WatchEvent;
    for (const { fault } of this.#looking)
      if (fault.kind === 'filter-watch' && callRule(() => fault.drop(event))) return;
    const counts = event.type !== 'BOOKMARK';
    for (const looking of this.#looking)
      if (counts && isMidLine(looking)) {
        await this.#exchange.write(line.slice(0, line.length / 2));
        return this.#end(looking.fault);
      }
    await this.#exchange.write(`${line}\n`);
    if (!counts) return;
    for (const looking of this.#looking) {
      looking.passed += 1;
      if (isDue(looking)) return this.#end(looking.fault);
    }
  }

  #end(fault: WatchFault): void {
    if (this.#cut) return;
    this.#cut = true;
    const { how, onCut } = fault as CutWatch;
    if (how === 'reset') this.#exchange.reset();
    else {
      // Not waited for: nothing follows it.
      if (how === 'gone-event') this.#exchange.write(GONE_EVENT).catch(() => undefined);
      this.#exchange.finish();
    }
    this.#answer.destroy();
    callRule(() => onCut?.(this.request));
  }
}

/** All events before the cut have passed, and it comes between two lines. */
function isDue({ fault, passed }: Looking): boolean {
  return fault.kind === 'cut-watch' && fault.how !== 'mid-line' && passed >= fault.afterEvents;
}

/** The event that comes now is the one that is cut through. */
function isMidLine({ fault, passed }: Looking): boolean {
  return fault.kind === 'cut-watch' && fault.how === 'mid-line' && passed >= fault.afterEvents;
}
