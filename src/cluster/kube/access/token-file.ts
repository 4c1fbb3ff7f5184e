import { readFile } from 'node:fs/promises';

/** Projected tokens rotate on disk. client-go rereads them at the same interval. */
const MAX_AGE_MS = 60_000;

/**
 * A token that another process renews on disk. If a read fails, the old token is kept, because it is usually still
 * valid.
 */
export class TokenFile {
  readonly #file: string;
  #token: string | undefined;
  #readAt = 0;

  constructor(file: string) {
    this.#file = file;
  }

  async read(): Promise<string> {
    const fresh = performance.now() - this.#readAt < MAX_AGE_MS;
    if (this.#token !== undefined && fresh) return this.#token;
    try {
      this.#token = await readCredentialFile(this.#file, 'the token file');
      this.#readAt = performance.now();
    } catch (error) {
      if (this.#token === undefined) throw error;
    }
    return this.#token;
  }

  invalidate(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }
}

/** @throws Error that names the file, never its content */
export async function readCredentialFile(file: string, what: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new Error(
      `failed to read ${what} ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unreadable'}`,
    );
  }
}
