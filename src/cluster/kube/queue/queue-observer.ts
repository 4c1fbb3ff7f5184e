/** Receives what a queue does, for metrics. The methods are fast and do not throw. */
export interface QueueObserver {
  /** A key became ready for a worker. */
  added(): void;
  /** A key will be added after a delay, because its reconcile failed or asked for it. */
  retried(): void;
  /** A worker got a key that was ready for this time. */
  handedOut(waitedMs: number): void;
  /** A worker returned a key that it had for this time. */
  done(workedMs: number): void;
}
