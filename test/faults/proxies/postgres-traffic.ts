/** Statements at the proxy in front of PostgreSQL, and their faults. */
import type { ActiveRule } from './kubernetes-traffic.ts';

/** One statement or transaction step as it reached the proxy. */
export interface SqlMessage {
  /** Number in the order of arrival at this proxy, from 1. */
  readonly seq: number;
  readonly client: string;
  /** Number of the connection of that client, from 1. */
  readonly connection: number;
  /** SQL of the Query or of the executed Parse message, on one line with single blanks. */
  readonly sql: string;
  readonly at: number;
}

/** What happens to a statement to which a rule applies. Others are forwarded unchanged. */
export type SqlFault =
  | { readonly kind: 'delay'; readonly ms: number }
  /** The connection is cut before the message is forwarded. */
  | { readonly kind: 'refuse' }
  /**
   * Forwarded, but the connection is cut before the response. `run` gets the command tag, such as `COMMIT` or `UPDATE 1`, or an
   * empty text after an error.
   */
  | { readonly kind: 'lose'; readonly run?: (message: SqlMessage, answer: string) => void }
  /** Not forwarded until `open` or `stop`. The connection stays open. */
  | { readonly kind: 'hold' }
  | { readonly kind: 'before'; readonly run: (message: SqlMessage) => Promise<void> }
  /**
   * Forwarded. The response is delivered after `run` has resolved. Then `passedOn` is called with whether the complete response
   * was sent to the client.
   */
  | {
      readonly kind: 'after';
      readonly run: (message: SqlMessage, answer: string) => Promise<void>;
      readonly passedOn?: (isDelivered: boolean) => void;
    };

export interface SqlRule {
  readonly match: (message: SqlMessage) => boolean;
  readonly fault: SqlFault;
  readonly times?: number;
}

export interface PostgresProxy {
  /**
   * Opens a port for a client. Returns a URL that reaches the PostgreSQL at `url` through this port, without TLS, with the same
   * user, password and database. A client keeps its port.
   */
  urlFor(client: string, url: string): Promise<string>;
  add(rule: SqlRule): ActiveRule;
  /** Whether NotificationResponse messages are dropped. */
  dropNotifications(on: boolean): void;
  /** Number of notifications that were dropped since dropping was last turned on. */
  droppedNotifications(): number;
  /** The following three are as in `KubernetesProxy`. `open` also releases held statements. */
  blackhole(client?: string): void;
  cut(client?: string): void;
  open(client?: string): void;
  /** All messages since the start or the last `clear`. */
  messages(client?: string): readonly SqlMessage[];
  clear(): void;
  connections(client?: string): number;
  /** Errors that functions of rules have thrown since the last call. */
  takeFailures(): readonly Error[];
  /** @throws AggregateError with the errors of rules that were not taken */
  stop(): Promise<void>;
}
