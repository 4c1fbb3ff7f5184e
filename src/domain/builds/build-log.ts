import { z } from 'zod';
import { BUILD_STEP_NAMES } from './build.ts';

/** The logs of builds: what is kept of each, and how its pieces are put together. Pure. */

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

/** Kept of one revision's builds, all attempts together: lines, and their texts' bytes. */
export const KEPT_LOG = { lines: 10_000, bytes: 2 * 1024 * 1024 } as const;
/** The newest builds of a deployment whose logs are kept. */
export const KEPT_BUILD_LOGS = 20;

/** Stands where the rest was left out. */
export const LEFT_OUT = `… the rest of this log is left out: ${KEPT_LOG.lines} lines or ${KEPT_LOG.bytes / 1024 / 1024} MiB are kept of a build`;

/** Lines of one attempt, beginning with `firstLine` of it (the first of all is 0). */
export interface LogPiece {
  readonly attempt: number;
  readonly firstLine: number;
  readonly lines: readonly Omit<BuildLogLine, 'attempt'>[];
}

/** What is kept of a revision's log already. */
export interface KeptLog {
  readonly lines: number;
  /** Of the texts, about. */
  readonly bytes: number;
  /** The latest attempt of which there is a line; null: there is none. */
  readonly attempt: number | null;
  /** Lines of attempts before that one. */
  readonly linesBefore: number;
}

export interface TakenPiece {
  /** To be added behind what is kept. */
  readonly added: readonly BuildLogLine[];
  /** The line of this attempt that comes next. */
  readonly nextLine: number;
  /** No line of this attempt is wanted any more. */
  readonly full: boolean;
}

const isFull = ({ lines, bytes }: { lines: number; bytes: number }) =>
  lines >= KEPT_LOG.lines || bytes >= KEPT_LOG.bytes;

/**
 * What a piece adds. Lines that are kept already are passed over, so a piece that is sent again adds nothing; of one that
 * would leave a gap nothing is taken; of an attempt before the latest one neither.
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

/** After a build has had its last word: so long the end of its log may take to come. */
const STRAGGLERS_MS = 60_000;

/**
 * Whether nothing comes after what is kept.
 * @param build how the build is; null: none was begun
 * @param ended the log has told its end
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
