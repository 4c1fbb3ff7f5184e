import { EventEmitter, once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs';

/** What a container prints, line by line with its time, in a file; read as `kubectl logs` reads. */

export interface LogQuery {
  /** Milliseconds since 1970; only what was written from then on. */
  readonly since?: number | undefined;
  /** Most lines of what is there already. */
  readonly tail?: number | undefined;
  /** Goes on until the container has ended. */
  readonly follow?: boolean | undefined;
  /** With the time of each line before it. */
  readonly timestamps?: boolean | undefined;
  readonly limitBytes?: number | undefined;
}

const MOST_BYTES = 10 * 1024 * 1024;
const MOST_LINE = 16 * 1024;
/** What Kubernetes takes of a log for a termination message. */
const FALLBACK = { lines: 80, bytes: 2048 };

export class ContainerLog {
  readonly #path: string;
  readonly #changed = new EventEmitter();
  #rest = '';
  #bytes = 0;
  #last: string[] = [];
  #ended = false;

  /** @param path file to write to; what is in it already is thrown away */
  constructor(path: string) {
    this.#path = path;
    this.#changed.setMaxListeners(0);
    writeFileSync(path, '', { mode: 0o600 });
  }

  /** Takes output as it comes. */
  write(chunk: string): void {
    const lines = `${this.#rest}${chunk}`.split('\n');
    this.#rest = lines.pop() ?? '';
    while (this.#rest.length > MOST_LINE) {
      lines.push(this.#rest.slice(0, MOST_LINE));
      this.#rest = this.#rest.slice(MOST_LINE);
    }
    this.#append(lines);
  }

  /** No more comes. */
  end(): void {
    if (this.#ended) return;
    if (this.#rest !== '') this.#append([this.#rest]);
    this.#rest = '';
    this.#ended = true;
    this.#changed.emit('changed');
  }

  /** The end, as a termination message has it. */
  lastWords(): string {
    return Buffer.from(this.#last.join('\n')).subarray(-FALLBACK.bytes).toString('utf8');
  }

  #append(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#last = [...this.#last, ...lines].slice(-FALLBACK.lines);
    if (this.#bytes > MOST_BYTES) return;
    const now = new Date().toISOString();
    let text = lines.map((line) => `${now} ${line}\n`).join('');
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > MOST_BYTES) text += `${now} … what comes after ${MOST_BYTES} bytes is not kept\n`;
    appendFileSync(this.#path, text);
    this.#changed.emit('changed');
  }

  /** The lines that a query asks for, in pieces. */
  async *read(query: LogQuery, signal: AbortSignal): AsyncGenerator<string> {
    let left = query.limitBytes ?? Number.POSITIVE_INFINITY;
    for await (const text of this.#pieces(query, signal)) {
      if (left <= 0) return;
      const bytes = Buffer.from(text);
      yield bytes.length <= left ? text : bytes.subarray(0, left).toString('utf8');
      left -= bytes.length;
    }
  }

  async *#pieces({ since, tail, follow, timestamps }: LogQuery, signal: AbortSignal): AsyncGenerator<string> {
    const shown = (lines: readonly string[]) =>
      lines
        .filter((line) => since === undefined || Date.parse(line.slice(0, line.indexOf(' '))) >= since)
        .map((line) => `${timestamps ? line : line.slice(line.indexOf(' ') + 1)}\n`);
    const first = readFileSync(this.#path, 'utf8');
    let offset = Buffer.byteLength(first);
    const there = shown(first.split('\n').slice(0, -1));
    yield there.slice(tail === undefined ? 0 : Math.max(0, there.length - tail)).join('');
    while (follow && !signal.aborted) {
      const ended = this.#ended;
      const more = readFrom(this.#path, offset);
      offset += Buffer.byteLength(more);
      if (more !== '') yield shown(more.split('\n').slice(0, -1)).join('');
      else if (ended) return;
      else await once(this.#changed, 'changed', { signal }).catch(() => undefined);
    }
  }
}

/** Lines are written whole and at once, so a file ends with a line end whenever it is looked at. */
function readFrom(path: string, offset: number): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(fstatSync(file).size - offset);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset)).toString('utf8');
  } finally {
    closeSync(file);
  }
}
