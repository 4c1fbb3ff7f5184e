import { createHash } from 'node:crypto';

/** Spans of the trace of a change. */

/** Identifies a change of the desired state. Every role knows both values. */
export interface ChangeRef {
  readonly deploymentId: string;
  /** The generation of the change in the hub. */
  readonly generation: number;
}

export interface SpanReport {
  readonly name: string;
  readonly change: ChangeRef;
  /** Attributes with OpenTelemetry names or the prefix `berth.`. undefined values are omitted. Never secrets. */
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
  readonly endedAt: number;
  /** Error message. Absent: success. */
  readonly error?: string | undefined;
  /** W3C traceparent of the request that caused the span, for a link. */
  readonly causedBy?: string | undefined;
}

/** Records a finished span. The call is fast and never throws. */
export type RecordSpan = (span: SpanReport) => void;

/**
 * The trace id of a change, as 32 hexadecimal digits. The id is derived from the change itself, so it need not be
 * passed between roles or stored.
 */
export function traceIdOf({ deploymentId, generation }: ChangeRef): string {
  return createHash('sha256').update(`${deploymentId}/${generation}`).digest('hex').slice(0, 32);
}
