import { z } from 'zod';
import { BUILD_STEP_NAMES } from './build.ts';

/** Determines how much of a build log is stored, and how chunks are appended. Pure. */

/** One line of a build's log. */
export const buildLogLineSchema = z.strictObject({
  at: z
    .string()
    .max(40)
    .describe('Time of the line, RFC 3339, with nanoseconds if the cluster provides them.'),
  attempt: z.int().min(1).describe('Number of the attempt. Transient failures are retried.'),
  step: z.enum(BUILD_STEP_NAMES).describe('Step of the build.'),
  text: z.string().describe('The line, without its line end. A very long line is split at "…".'),
});
export type BuildLogLine = z.infer<typeof buildLogLineSchema>;

/** Maximum stored size of the log of a revision over all attempts: lines, and bytes of their texts. */
export const KEPT_LOG = { lines: 10_000, bytes: 2 * 1024 * 1024 } as const;
/** Number of newest builds of a deployment whose logs are kept. */
export const KEPT_BUILD_LOGS = 20;

/** The line that replaces the rest of a truncated log. */
export const LEFT_OUT =
  `… the rest of this log is omitted: at most ${KEPT_LOG.lines} lines or ` +
  `${KEPT_LOG.bytes / 1024 / 1024} MiB of a build log are kept`;

/** Consecutive lines of one attempt, from number `firstLine` (counted from 0). */
export interface LogPiece {
  readonly attempt: number;
  readonly firstLine: number;
  readonly lines: readonly Omit<BuildLogLine, 'attempt'>[];
}

/** The part of the log of a revision that is already stored. */
export interface KeptLog {
  readonly lines: number;
  /** Approximate size of the texts. */
  readonly bytes: number;
  /** The latest attempt with a stored line. null: no line is stored. */
  readonly attempt: number | null;
  /** Number of lines of earlier attempts. */
  readonly linesBefore: number;
}

export interface TakenPiece {
  /** Lines to append. */
  readonly added: readonly BuildLogLine[];
  /** Number of the next expected line of this attempt. */
  readonly nextLine: number;
  /** Whether no more lines of this attempt are accepted. */
  readonly full: boolean;
}

const isFull = ({ lines, bytes }: { lines: number; bytes: number }) =>
  lines >= KEPT_LOG.lines || bytes >= KEPT_LOG.bytes;

/**
 * The lines that a chunk adds. Stored lines are skipped, so a repeated chunk adds nothing. A chunk after a gap, or of
 * an earlier attempt, also adds nothing.
 */
export function takePiece(kept: KeptLog, piece: LogPiece): TakenPiece {
  const isLatest = kept.attempt === piece.attempt;
  const nextLine = isLatest ? kept.lines - kept.linesBefore : 0;
  const isLate = kept.attempt !== null && piece.attempt < kept.attempt;
  if (isLate || isFull(kept)) return { added: [], nextLine, full: true };
  if (piece.firstLine > nextLine) return { added: [], nextLine, full: false };
  const added: BuildLogLine[] = [];
  let { lines, bytes } = kept;
  for (const { at, step, text } of piece.lines.slice(nextLine - piece.firstLine)) {
    if (isFull({ lines, bytes })) break;
    added.push({ at, attempt: piece.attempt, step, text });
    lines += 1;
    bytes += Buffer.byteLength(text);
  }
  const last = added.at(-1);
  const full = isFull({ lines, bytes });
  if (full && last !== undefined) added.push({ ...last, text: LEFT_OUT });
  return { added, nextLine: nextLine + added.length, full };
}

/** Maximum delay of the end of the log after the build reached a final phase. */
const STRAGGLERS_MS = 60_000;

/**
 * Whether the stored log is complete.
 * @param build state of the build. null: no build was started
 * @param ended whether the listener has reported the end of the log
 */
export function isComplete(
  build: { readonly phase: string; readonly finished_at?: string | undefined } | null,
  awaited: boolean,
  ended: boolean,
  now: Date,
): boolean {
  if (awaited) return false;
  if (build === null || ended) return true;
  const finishedAt = Date.parse(build.finished_at ?? '');
  return Number.isNaN(finishedAt) || now.getTime() - finishedAt > STRAGGLERS_MS;
}
