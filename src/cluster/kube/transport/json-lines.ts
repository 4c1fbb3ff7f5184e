import { StringDecoder } from 'node:string_decoder';

/**
 * Splits a byte stream into lines. Chunks may end within a line or a character. Text after the last line break is not a
 * line, because an interrupted stream ends with a partial line.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: (line: string) => void;
  #rest = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    const text = this.#decoder.write(chunk);
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const line = this.#rest + text.slice(start, end);
      this.#rest = '';
      start = end + 1;
      if (line !== '') this.#onLine(line);
    }
    this.#rest += text.slice(start);
  }
}
