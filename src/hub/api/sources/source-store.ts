import type { Owner } from '../../registry/authority.ts';

/** Where the content of uploaded folders is stored. The composition root implements it with the platform's registry. */

export interface SourceStore {
  /** Whether the store has the upload. @throws SourceStoreError; the signal's reason */
  has(owner: Owner, digest: string, signal: AbortSignal): Promise<boolean>;
  /**
   * Stores an upload. An upload that is stored already is stored again with the same result.
   * @param content is read as fast as the store takes it. If it fails, nothing is stored
   * @throws SourceStoreError; the signal's reason; the error of `content`
   */
  store(owner: Owner, digest: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
}

/** `unavailable`: no connection, or too many requests. `slow`: no response in time. `failed`: any other response. */
export type SourceStoreFailure = 'unavailable' | 'slow' | 'failed';

/** Messages contain statuses of the registry, but no credentials and no text of the registry. */
export class SourceStoreError extends Error {
  override readonly name = 'SourceStoreError';
  readonly failure: SourceStoreFailure;

  constructor(failure: SourceStoreFailure, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.failure = failure;
  }
}
