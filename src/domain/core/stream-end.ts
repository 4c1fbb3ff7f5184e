/**
 * Why a stream of lines ends.
 * - complete: everything that was requested was sent.
 * - continue: a limit was reached or a process stops. The next request continues.
 * - denied: the caller or the listener no longer has the right to read. Another request fails, too.
 * - failed: an error ended the stream. Another request may succeed.
 */
export const STREAM_END_REASONS = ['complete', 'continue', 'denied', 'failed'] as const;
export type StreamEndReason = (typeof STREAM_END_REASONS)[number];

/** The end of a stream of lines. */
export interface StreamEnd {
  /** A message for people. */
  readonly end: string;
  readonly reason: StreamEndReason;
}
