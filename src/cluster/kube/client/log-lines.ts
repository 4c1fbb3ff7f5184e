import { StringDecoder } from 'node:string_decoder';

/** One line of a container's log. */
export interface LogLine {
  /** RFC 3339 with up to nanoseconds, as the kubelet sends it. */
  readonly at: string;
  readonly text: string;
  /** The log ended without a line break, so more of this line may follow. */
  readonly isOpen?: true;
}

/** Maximum length of a line, in characters. A longer line is split, and the cuts are marked. */
export const LONGEST_LINE = 8 * 1024;
const CUT = '…';

const TIMED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))(?: |$)/;
/** Upper limit for the length of a timestamp. */
const TIME_ROOM = 64;

/**
 * Splits a log with timestamps into lines. Chunks may end within a line, a timestamp or a character. The position of a
 * cut depends only on the line, so that lines can be counted again. A line without a timestamp (a message of the
 * kubelet) gets the timestamp of the line before it.
 */
export class LogLines {
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #at: string;
  /** `#rest` continues a line that was split. */
  #isCut = false;
  /** Whether the timestamp of the line in `#rest`, if any, was already removed. */
  #timeTaken = false;

  /** @param at timestamp of lines before the first line with a timestamp */
  constructor(at: string) {
    this.#at = at;
  }

  /** Adds a chunk. Returns the lines that the chunk completes. */
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

  /** Called at the end of the log. The text after the last line break is also a line. */
  end(): LogLine[] {
    const lines: LogLine[] = [];
    this.#rest += this.#decoder.end();
    if (this.#rest !== '' || this.#isCut) {
      this.#cutTo(lines, LONGEST_LINE);
      this.#end(lines);
    }
    return lines.map((line) => ({ ...line, isOpen: true }));
  }

  /** Cuts pieces from a long line as long as more than `room` characters are left. */
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

  /** Removes the timestamp from the beginning of a line. */
  #takeTime(): void {
    if (this.#timeTaken) return;
    this.#timeTaken = true;
    const [whole, at] = TIMED.exec(this.#rest.slice(0, TIME_ROOM)) ?? [];
    if (whole === undefined || at === undefined) return;
    this.#at = at;
    this.#rest = this.#rest.slice(whole.length);
  }
}

/** The first half of a surrogate pair, which must not be separated from the second. */
function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
