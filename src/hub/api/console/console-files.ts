import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { escaped } from '../pages/html.ts';

/** The files of the console that `npm run console` builds. */

/** Path of the console, below BERTH_PUBLIC_URL. */
export const CONSOLE_PATH = '/console';
/** Folder of files whose names contain a hash of their content. */
export const ASSETS = 'assets';

/**
 * The index with the address to which its relative links refer. Deep links return the same index.
 * @param prefix path of the public URL, without a slash at its end
 */
export const withBase = (index: string, prefix: string): string =>
  index.replace('<head>', `<head><base href="${escaped(`${prefix}${CONSOLE_PATH}/`)}">`);

/** Reads the index of a folder; null: the console is not built. */
export async function readIndex(folder: string): Promise<string | null> {
  try {
    return await readFile(join(folder, 'index.html'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Whether a request navigates to a page: browsers name HTML explicitly, other clients do not. */
export const wantsPage = (accept: string | undefined): boolean => /\btext\/html\b/.test(accept ?? '');
