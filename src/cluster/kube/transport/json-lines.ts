import { StringDecoder } from 'node:string_decoder';

/**
 * Cuts a byte stream into lines, wherever the chunks fall (in the middle of a line, of a character).
 * What follows the last line end is never a line: a stream that was cut leaves half of one behind.
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
