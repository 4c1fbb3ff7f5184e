/** Parts of the console that are loaded when they are needed, and can be missing after an upgrade of the API. */

/** A part could not be loaded. */
export class MissingPart extends Error {
  override readonly name = 'MissingPart';

  constructor(cause: unknown) {
    super('A part of the console could not be loaded. The API may have been upgraded.', { cause });
  }
}

/**
 * Loads a part.
 * @throws MissingPart
 */
export const loadPart = <T>(load: () => Promise<T>): Promise<T> =>
  load().catch((cause: unknown) => {
    throw new MissingPart(cause);
  });

const PAUSE_MS = 60_000;

/**
 * Whether a page that needs a missing part is loaded again without a question: at most once a minute, so that a missing file cannot cause a
 * loop, and never while a reload would lose something.
 * @param last time of the last reload; null: there was none
 */
export const mayReload = (last: string | null, now: number, isKept: boolean): boolean =>
  !isKept && now - Number(last ?? 0) > PAUSE_MS;
