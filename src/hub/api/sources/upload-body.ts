import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ArchiveReader } from '../../../archive/archive-reader.ts';
import { type ArchiveLimits, MEBIBYTE } from '../../../domain/uploads/archive-limits.ts';
import { UploadRate } from '../../../domain/uploads/upload-rate.ts';
import { ApiError, brokenRules } from '../core/errors.ts';
import { lateUpload } from './upload-errors.ts';

/** The body of an upload, which is checked while it is read. It is never held in memory as a whole. */

export interface UploadBodyOptions {
  readonly digest: string;
  readonly packedBytes: number;
  readonly archive: ArchiveLimits;
  /** Time in milliseconds in which the next part must arrive. In each such time, the minimum rate applies. */
  readonly idleMs: number;
  /** Fires when the upload must end, with an ApiError as its reason. */
  readonly signal: AbortSignal;
}

export class UploadBody {
  readonly #options: UploadBodyOptions;
  readonly #parts: AsyncIterator<Buffer>;
  readonly #timer: NodeJS.Timeout;
  readonly #rate: UploadRate;
  /** Ends the waits for parts. After the registry has failed, a wait of `checked` may continue beside that of `discard`. */
  readonly #waits = new Set<(error: ApiError) => void>();
  #bytes = 0;

  constructor(raw: Pick<IncomingMessage, 'iterator'>, options: UploadBodyOptions) {
    this.#options = options;
    // The connection stays open when reading ends early, so that the client gets the response.
    this.#parts = raw.iterator({ destroyOnReturn: false });
    this.#rate = new UploadRate(options.idleMs);
    this.#timer = setTimeout(() => this.#endWaits(lateUpload()), options.idleMs).unref();
    const { signal } = options;
    signal.addEventListener('abort', () => this.#endWaits(signal.reason), { once: true });
  }

  /** Number of bytes that were read. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The content.
   * @throws ApiError 400 when the archive breaks a rule, 408, 413, 503; ArchiveViolation
   */
  async *checked(): AsyncGenerator<Buffer> {
    const { archive } = this.#options;
    const reader = new ArchiveReader(archive);
    try {
      for await (const part of this.#verified()) {
        await reader.write(part);
        yield part;
      }
      await reader.end();
    } finally {
      reader.destroy();
    }
  }

  /** Reads the content of an upload that is stored already. @throws ApiError 400 when it is another one, 408, 413, 503 */
  async compare(): Promise<void> {
    for await (const _ of this.#verified());
  }

  /** Reads the rest, so that a client which does not read while it sends gets the response. @returns false: not all of it */
  async discard(): Promise<boolean> {
    try {
      for (;;) {
        if ((await this.#next()).done === true) return true;
        if (this.#bytes > this.#options.packedBytes) return false;
      }
    } catch {
      return false;
    }
  }

  /** @throws ApiError 413 */
  checkSize(bytes: number): void {
    const { packedBytes } = this.#options;
    if (bytes <= packedBytes) return;
    throw new ApiError(413, `The upload is larger than the limit of ${packedBytes / MEBIBYTE} MiB.`);
  }

  async *#verified(): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    for (;;) {
      const { done, value } = await this.#next();
      if (done === true) break;
      this.checkSize(this.#bytes);
      hash.update(value);
      yield value;
    }
    if (`sha256:${hash.digest('hex')}` === this.#options.digest) return;
    const msg = 'the body has another SHA-256 than the header Content-Digest';
    throw brokenRules([{ loc: [], msg, type: 'digest_mismatch' }]);
  }

  /** The next part. @throws ApiError 408, 503 */
  async #next(): Promise<IteratorResult<Buffer>> {
    const began = performance.now();
    const next = await this.#waitForPart();
    if (next.done === true) return next;
    this.#bytes += next.value.length;
    if (this.#rate.add(next.value.length, performance.now() - began)) throw lateUpload();
    return next;
  }

  /**
   * One promise for each part. A race with a promise that lives as long as the upload would keep all parts in memory, because
   * that promise would refer to the result of each race.
   */
  async #waitForPart(): Promise<IteratorResult<Buffer>> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Buffer>>();
    this.#waits.add(reject);
    this.#timer.refresh();
    // The connection is lost. Its error may come before the signal.
    this.#parts.next().then(resolve, () => reject(lateUpload()));
    try {
      return await promise;
    } finally {
      this.#waits.delete(reject);
    }
  }

  #endWaits(error: ApiError): void {
    for (const end of this.#waits) end(error);
  }
}
