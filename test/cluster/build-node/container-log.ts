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

/** The log of a container in a file, with the time of each line. Queries are those of `kubectl logs`. */

export interface LogQuery {
  /** Milliseconds since 1970. Only lines from this time on. */
  readonly since?: number | undefined;
  /** Maximum number of existing lines, the newest ones. */
  readonly tail?: number | undefined;
  /** Continues until the container has ended. */
  readonly follow?: boolean | undefined;
  /** With the time of each line before it. */
  readonly timestamps?: boolean | undefined;
  readonly limitBytes?: number | undefined;
}

const MAX_LOG_BYTES = 10 * 1024 * 1024;
const MAX_LINE = 16 * 1024;
/** The end of a log that Kubernetes uses as a termination message (FallbackToLogsOnError). */
const FALLBACK = { lines: 80, bytes: 2048 };

export class ContainerLog {
  readonly #path: string;
  readonly #changed = new EventEmitter();
  #rest = '';
  #bytes = 0;
  #last: string[] = [];
  #ended = false;

  /** @param path file to write to. Its former content is removed. */
  constructor(path: string) {
    this.#path = path;
    this.#changed.setMaxListeners(0);
    writeFileSync(path, '', { mode: 0o600 });
  }

  /** Adds output of the container. */
  write(chunk: string): void {
    const lines = `${this.#rest}${chunk}`.split('\n');
    this.#rest = lines.pop() ?? '';
    while (this.#rest.length > MAX_LINE) {
      lines.push(this.#rest.slice(0, MAX_LINE));
      this.#rest = this.#rest.slice(MAX_LINE);
    }
    this.#append(lines);
  }

  /** The container has ended: adds the incomplete last line, and ends all followers. */
  end(): void {
    if (this.#ended) return;
    if (this.#rest !== '') this.#append([this.#rest]);
    this.#rest = '';
    this.#ended = true;
    this.#changed.emit('changed');
  }

  /** The last lines, as a termination message contains them. */
  lastLines(): string {
    return Buffer.from(this.#last.join('\n')).subarray(-FALLBACK.bytes).toString('utf8');
  }

  #append(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#last = [...this.#last, ...lines].slice(-FALLBACK.lines);
    if (this.#bytes > MAX_LOG_BYTES) return;
    const now = new Date().toISOString();
    let text = lines.map((line) => `${now} ${line}\n`).join('');
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > MAX_LOG_BYTES) text += `${now} … output after ${MAX_LOG_BYTES} bytes is not kept\n`;
    appendFileSync(this.#path, text);
    this.#changed.emit('changed');
  }

  /** The lines that match a query, in pieces. */
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
    const existing = shown(first.split('\n').slice(0, -1));
    yield existing.slice(tail === undefined ? 0 : Math.max(0, existing.length - tail)).join('');
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

/** Every write ends with a line end, so a reader never gets a part of a line. */
function readFrom(path: string, offset: number): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(fstatSync(file).size - offset);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset)).toString('utf8');
  } finally {
    closeSync(file);
  }
}
