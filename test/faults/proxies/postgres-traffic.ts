/** Statements at the proxy in front of PostgreSQL, and their faults. */
import type { ActiveRule } from './kubernetes-traffic.ts';

/** One statement or transaction step as it reached the proxy. */
export interface SqlMessage {
  /** In the order of arrival at this proxy, from 1. */
  readonly seq: number;
  readonly client: string;
  /** Which connection of that client, from 1. */
  readonly connection: number;
  /** Text of a simple Query or of the Parse that is executed; one line, blanks collapsed. */
  readonly sql: string;
  readonly at: number;
}

export type SqlFault =
  | { readonly kind: 'delay'; readonly ms: number }
  /** Connection cut before the message is forwarded. */
  | { readonly kind: 'refuse' }
  /**
   * Forwarded; connection cut before its answer (up to ReadyForQuery) goes back. `run` is told how PostgreSQL has answered:
   * `COMMIT`, `UPDATE 1`; nothing where it has failed.
   */
  | { readonly kind: 'lose'; readonly run?: (message: SqlMessage, answer: string) => void }
  /** Not forwarded until `open` or `stop`; the connection stays. */
  | { readonly kind: 'hold' }
  | { readonly kind: 'before'; readonly run: (message: SqlMessage) => Promise<void> }
  /**
   * When PostgreSQL has answered, `run` is awaited before the answer goes back. Then `passedOn` is told whether all of it
   * has gone to the client.
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
   * Opens a port for a client; returns the URL that leads by it to the PostgreSQL at `url`: same user, password and
   * database, in the clear. The same client keeps its port.
   */
  urlFor(client: string, url: string): Promise<string>;
  add(rule: SqlRule): ActiveRule;
  /** NotificationResponse messages are thrown away while this is on. */
  dropNotifications(on: boolean): void;
  /** How many were thrown away since that was last turned on. */
  droppedNotifications(): number;
  /** As of the proxy before the API server; `open` also lets go what is held. */
  blackhole(client?: string): void;
  cut(client?: string): void;
  open(client?: string): void;
  /** Every message since the start, or since `clear`. */
  messages(client?: string): readonly SqlMessage[];
  clear(): void;
  connections(client?: string): number;
  /** What functions of rules have thrown since it was last asked for. */
  takeFailures(): readonly Error[];
  /** @throws AggregateError with what functions of rules have thrown meanwhile, and nobody has taken */
  stop(): Promise<void>;
}
