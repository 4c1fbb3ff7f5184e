import type { EventEmitter } from 'node:events';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { type ArchiveLimits, MAX_BETWEEN_BYTES } from '../domain/uploads/archive-limits.ts';
import { type AcceptedEntry, ArchiveRules, ArchiveViolation } from '../domain/uploads/archive-rules.ts';

/**
 * Reads an uploaded archive (tar, compressed with gzip) as a stream, and checks each entry with the rules of
 * domain/uploads. It holds a bounded part of the archive in memory, whatever the archive contains.
 */

/** Receives each accepted entry with its content. Content that is not read is skipped. */
export type OnEntry = (
  entry: AcceptedEntry,
  header: Header,
  content: AsyncIterable<Uint8Array>,
) => Promise<void>;

/** The declared type lacks a field, and the type of another. */
type ReadHeader = Header & { byteOffset: number; pax?: Record<string, unknown> | null };

const BLOCK = 512;
const padded = (size: number) => Math.ceil(size / BLOCK) * BLOCK;

const notAnArchive = (message: string) => new ArchiveViolation('not_an_archive', message);

/** An error of the decompressor or of the parser. Its own text may quote the archive. */
function malformed(error: unknown): ArchiveViolation {
  if (error instanceof ArchiveViolation) return error;
  const { code = '', message = '' } = error as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR' || message === 'Unexpected end of data')
    return notAnArchive('the archive is truncated');
  return code.startsWith('Z_')
    ? notAnArchive('the body is not compressed with gzip')
    : notAnArchive('the content of the body is not a tar archive');
}

type Sink = Pick<EventEmitter, 'on' | 'off'> & { readonly destroyed: boolean };

/** Resolves when the stream takes more, or is closed. It leaves nothing behind, because it is called for each part. */
function drained(stream: Sink): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) return resolve();
    const end = () => {
      stream.off('drain', end).off('close', end);
      resolve();
    };
    stream.on('drain', end).on('close', end);
  });
}

export class ArchiveReader {
  readonly #rules: ArchiveRules;
  readonly #onEntry: OnEntry | null;
  readonly #gunzip = createGunzip();
  readonly #tar = extract();
  readonly #done: Promise<void>;
  #bytes = 0;
  /** Number of bytes before which the next entry must begin, or the archive must end. */
  #nextBefore = MAX_BETWEEN_BYTES;
  #hasEnded = false;
  #failure: { readonly error: unknown } | null = null;

  /** @param onEntry null: the entries are only checked */
  constructor(limits: ArchiveLimits, onEntry: OnEntry | null = null) {
    this.#rules = new ArchiveRules(limits);
    this.#onEntry = onEntry;
    this.#done = this.#run();
    // The caller gets the error from its next call.
    this.#done.catch(() => undefined);
  }

  /**
   * Reads a part of the packed archive. Resolves when the next part can be read.
   * @throws ArchiveViolation; the error of onEntry
   */
  async write(chunk: Uint8Array): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#hasEnded) throw notAnArchive('data follows the end of the archive');
    if (!this.#gunzip.write(chunk)) await drained(this.#gunzip);
  }

  /** Resolves when the whole archive has been read. @throws ArchiveViolation; the error of onEntry */
  async end(): Promise<void> {
    this.#gunzip.end();
    await this.#done;
    this.#rules.end();
  }

  /** Stops. Has no effect after the end. */
  destroy(): void {
    this.#gunzip.destroy();
    this.#tar.destroy();
  }

  async #run(): Promise<void> {
    try {
      await Promise.all([this.#unpack(), this.#readEntries()]);
    } catch (error) {
      // The error that came first. Destroying the streams causes others.
      this.#failure ??= { error: malformed(error) };
      throw this.#failure.error;
    } finally {
      this.destroy();
    }
  }

  async #unpack(): Promise<void> {
    const tar = this.#tar;
    for await (const chunk of this.#gunzip as AsyncIterable<Uint8Array>) {
      this.#bytes += chunk.length;
      this.#rules.read(this.#bytes);
      if (this.#bytes > this.#nextBefore)
        throw notAnArchive(`more than ${MAX_BETWEEN_BYTES} bytes between two entries are not files`);
      if (!tar.write(chunk)) await drained(tar);
    }
    this.#hasEnded = true;
    tar.end(null);
  }

  async #readEntries(): Promise<void> {
    for await (const content of this.#tar) {
      const { header } = content as unknown as { header: ReadHeader };
      const entry = this.#rules.accept(header, header.byteOffset);
      this.#nextBefore = header.byteOffset + padded(header.size) + MAX_BETWEEN_BYTES;
      if (this.#onEntry !== null) await this.#handle(entry, header, content as AsyncIterable<Uint8Array>);
      content.resume();
    }
  }

  async #handle(entry: AcceptedEntry, header: Header, content: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      await this.#onEntry?.(entry, header, content);
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }
}
