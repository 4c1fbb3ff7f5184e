import {
  type BuildLogPieceLine,
  MAX_PIECE_CHARACTERS,
  MAX_PIECE_LINES,
} from '../../../contract/protocol/log-protocol.ts';
import { BUILD_STEP_NAMES, type BuildStep } from '../../../domain/builds/build.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { LogLine } from '../../kube/client/log-lines.ts';
import { CursorWalk, type LogCursor, START } from '../logs/log-cursor.ts';
import type { HubClient } from '../session/hub-client.ts';
import { type BuildPod, buildOf, podHasEnded, stepAfter, stepLog } from './build-pod.ts';

/**
 * Sends the log of one build attempt to the hub, piece by piece. The lines of all steps are numbered consecutively. The
 * hub states which line it expects next. A listener that takes over reads the log from the beginning and skips the
 * lines that the hub has.
 */

export interface TailOptions {
  readonly client: Pick<KubeClient, 'readLog'>;
  readonly hub: Pick<HubClient, 'buildLogs'>;
  readonly epoch: number;
}

/**
 * How a turn ended. `done`: the log is complete. `more`: more lines are available now. `news`: lines were sent.
 * `quiet`: no lines were sent.
 */
export type TurnResult = 'done' | 'more' | 'news' | 'quiet';

const LOST = '… the rest of this log is lost, because the pod of the build no longer exists';
const [FIRST_STEP] = BUILD_STEP_NAMES;

/** Position of the next line to read. */
interface Position {
  readonly step: BuildStep;
  readonly cursor: LogCursor;
  /** Number of lines from `cursor` on that the hub already has. */
  readonly ahead: number;
}

/** Reads everything, and skips the first `ahead` lines. */
const beginning = (ahead: number): Position => ({ step: FIRST_STEP, cursor: START, ahead });

/** The lines for one call, and the position after them. */
class Piece {
  readonly lines: BuildLogPieceLine[] = [];
  #at: Position;
  #room = MAX_PIECE_CHARACTERS;

  constructor(at: Position) {
    this.#at = at;
  }

  get at(): Position {
    return this.#at;
  }

  get isFull(): boolean {
    return this.lines.length >= MAX_PIECE_LINES || this.#room <= 0;
  }

  begin(step: BuildStep): void {
    this.#at = { step, cursor: START, ahead: this.#at.ahead };
  }

  take(line: LogLine, walk: CursorWalk): void {
    const { step, ahead } = this.#at;
    const isNew = walk.take(line);
    const isKnown = isNew && ahead > 0;
    this.#at = { step, cursor: walk.cursor, ahead: ahead - (isKnown ? 1 : 0) };
    if (!isNew || isKnown) return;
    this.lines.push({ at: line.at, step, text: line.text });
    this.#room -= line.text.length;
  }
}

/** Why a piece ends: the log is complete, its current end is reached, or the piece is full. */
type Reach = 'end' | 'now' | 'full';

export class BuildLogTail {
  readonly #options: TailOptions;
  /** The line that the hub expects next; null: not known yet. */
  #next: number | null = null;
  #at: Position = beginning(0);

  constructor(options: TailOptions) {
    this.#options = options;
  }

  /**
   * Reads the new lines and sends them.
   * @param pod the last observed state of the pod
   * @param gone the pod no longer exists
   * @throws HubError, KubeError. No lines are lost, because the next turn repeats the work
   */
  async turn(pod: BuildPod, gone: boolean, signal: AbortSignal): Promise<TurnResult> {
    const build = buildOf(pod);
    if (build === null) return 'done';
    if (this.#next === null && (await this.#send(pod, [], false, signal))) return 'done';
    if (gone) return this.#lose(pod, signal);
    const piece = new Piece(this.#at);
    const reach = await this.#read(pod, piece, signal);
    const isNews = piece.lines.length > 0;
    if (isNews || reach === 'end') {
      if (await this.#send(pod, piece.lines, reach === 'end', signal)) return 'done';
      if (this.#next === null) return 'more';
    }
    this.#at = piece.at;
    if (reach === 'full') return 'more';
    return isNews ? 'news' : 'quiet';
  }

  /** The pod was deleted before its log was read to the end. */
  async #lose(pod: BuildPod, signal: AbortSignal): Promise<TurnResult> {
    const line = { at: new Date().toISOString(), step: this.#at.step, text: LOST };
    await this.#send(pod, [line], true, signal);
    return 'done';
  }

  /** @returns whether the hub needs no more lines */
  async #send(
    pod: BuildPod,
    lines: BuildLogPieceLine[],
    last: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { hub, epoch } = this.#options;
    const build = buildOf(pod);
    if (build === null) return true;
    const { revisionId: revision_id, attempt } = build;
    const first_line = this.#next ?? 0;
    const piece = { epoch, revision_id, attempt, first_line, lines, ...(last ? { last } : {}) };
    const answer = await hub.buildLogs(piece, { signal });
    const expected = first_line + lines.length;
    if (this.#next === null || answer.next_line !== expected) {
      // Another listener has sent more lines, or the hub has lost lines. The listener continues with the line that the
      // hub expects.
      const isFirst = this.#next === null;
      this.#at = beginning(answer.next_line);
      this.#next = isFirst ? answer.next_line : null;
    } else this.#next = expected;
    return answer.full;
  }

  async #read(pod: BuildPod, piece: Piece, signal: AbortSignal): Promise<Reach> {
    for (;;) {
      const { step } = piece.at;
      const state = stepLog(pod, step);
      // A pod that has ended starts no further step.
      if (state === 'absent') return podHasEnded(pod) ? 'end' : 'now';
      const grows = state === 'grows';
      const isWhole = await this.#readStep(pod, piece, grows, signal);
      if (!isWhole) return 'full';
      const next = stepAfter(step);
      if (grows) return 'now';
      if (next === undefined) return 'end';
      piece.begin(next);
    }
  }

  /** @returns whether the log of the step was read up to its current end */
  async #readStep(pod: BuildPod, piece: Piece, grows: boolean, signal: AbortSignal): Promise<boolean> {
    const walk = new CursorWalk(piece.at.cursor);
    for await (const line of this.#log(pod, piece.at, signal)) {
      if (piece.isFull) return false;
      // The line is incomplete. An incomplete line is sent later, when the rest of the line is available.
      if (line.isOpen && grows) break;
      piece.take(line, walk);
    }
    return true;
  }

  async *#log({ metadata }: BuildPod, { step, cursor }: Position, signal: AbortSignal) {
    const { name, namespace = '' } = metadata;
    const since = cursor.since ?? undefined;
    try {
      yield* this.#options.client.readLog({ name, namespace }, { container: step, since, signal });
    } catch (error) {
      // The container has just started, or the step never ran and has no log.
      if (!isKubeError(error, 'bad_request')) throw error;
    }
  }
}
