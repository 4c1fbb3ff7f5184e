import { createHash } from 'node:crypto';

/** What was done for a change, told as spans of a trace. */

/** One change of what is wanted: every role knows both of what it works on. */
export interface ChangeRef {
  readonly deploymentId: string;
  /** The hub's. */
  readonly generation: number;
}

export interface SpanReport {
  readonly name: string;
  readonly change: ChangeRef;
  /** Of OpenTelemetry's names or beginning with `berth.`; those that are undefined are left out. Never a secret. */
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
  readonly endedAt: number;
  /** Why it failed; absent: it did not. */
  readonly error?: string | undefined;
  /** W3C traceparent of who asked for it: linked, where it is one. */
  readonly causedBy?: string | undefined;
}

/** Takes a span that is over. Quick, and throws nothing. */
export type RecordSpan = (span: SpanReport) => void;

/**
 * The trace that all spans of a change are in, as 32 hexadecimal digits. Made of the change itself: nothing has to be
 * carried from role to role, and no write is needed for it.
 */
export function traceIdOf({ deploymentId, generation }: ChangeRef): string {
  return createHash('sha256').update(`${deploymentId}/${generation}`).digest('hex').slice(0, 32);
}
