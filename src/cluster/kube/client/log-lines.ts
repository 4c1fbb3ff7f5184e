import { StringDecoder } from 'node:string_decoder';

/** One line of a container's log. */
export interface LogLine {
  /** RFC 3339, as the kubelet tells it: up to nanoseconds. */
  readonly at: string;
  readonly text: string;
  /** The log has come to its end without a line end: there may be more of this line later. */
  readonly isOpen?: true;
}

/** A longer line is told in several, in characters; the places where it was cut are marked. */
export const LONGEST_LINE = 8 * 1024;
const CUT = '…';

const TIMED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))(?: |$)/;
/** No time is longer than this. */
const TIME_ROOM = 64;

/**
 * Cuts a log that was asked for with timestamps into lines, wherever the chunks fall: within a line, a time, a character.
 * Where a long line is cut depends on the line alone, so that lines can be counted again. A line without a time (what
 * the kubelet itself has to say) has that of the line before it.
 */
export class LogLines {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #at: string;
  /** `#rest` goes on with a line that was cut. */
  #isCut = false;
  /** The time of the line that `#rest` belongs to was taken off, if it has one. */
  #timeTaken = false;

  /** @param at time of lines before the first one with a time */
  constructor(at: string) {
    this.#at = at;
  }

  /** The lines that are complete with this chunk. */
  push(chunk: Buffer): LogLine[] {
    const lines: LogLine[] = [];
    const pieces = this.#decoder.write(chunk).split('\n');
    for (const [index, piece] of pieces.entries()) {
      this.#rest += piece;
      const isWhole = index < pieces.length - 1;
      this.#cutTo(lines, isWhole ? LONGEST_LINE : LONGEST_LINE + TIME_ROOM);
      if (isWhole) this.#end(lines);
    }
    return lines;
  }

  /** The log has come to its end: what stands after the last line end is a line too. */
  end(): LogLine[] {
    const lines: LogLine[] = [];
    this.#rest += this.#decoder.end();
    if (this.#rest !== '' || this.#isCut) {
      this.#cutTo(lines, LONGEST_LINE);
      this.#end(lines);
    }
    return lines.map((line) => ({ ...line, isOpen: true }));
  }

  /** Tells parts of a long line, as long as more than `room` characters are left. */
  #cutTo(lines: LogLine[], room: number): void {
    while (this.#rest.length > room) {
      this.#takeTime();
      if (this.#rest.length <= room) return;
      const end = isHigh(this.#rest.charCodeAt(LONGEST_LINE - 1)) ? LONGEST_LINE - 1 : LONGEST_LINE;
      const text = this.#rest.slice(0, end);
      lines.push({ at: this.#at, text: `${this.#isCut ? CUT : ''}${text}${CUT}` });
      this.#rest = this.#rest.slice(end);
      this.#isCut = true;
    }
  }

  #end(lines: LogLine[]): void {
    this.#takeTime();
    const text = this.#rest.endsWith('\r') ? this.#rest.slice(0, -1) : this.#rest;
    lines.push({ at: this.#at, text: this.#isCut ? `${CUT}${text}` : text });
    this.#rest = '';
    this.#isCut = false;
    this.#timeTaken = false;
  }

  /** Takes the time off the beginning of a line. */
  #takeTime(): void {
    if (this.#timeTaken) return;
    this.#timeTaken = true;
    const [whole, at] = TIMED.exec(this.#rest.slice(0, TIME_ROOM)) ?? [];
    if (whole === undefined || at === undefined) return;
    this.#at = at;
    this.#rest = this.#rest.slice(whole.length);
  }
}

/** Half of a surrogate pair: the other half must not be cut off. */
function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
