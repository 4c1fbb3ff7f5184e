import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { UsageError } from '../../command/usage-error.ts';
import { hidden } from './prompt.ts';

/** Secret values from users. A secret is never an argument, because every user of the machine can read command lines. */

async function read(what: string, file: string | undefined): Promise<string> {
  if (file !== undefined && file !== '-') return readFile(file, 'utf8');
  if (file === '-' || !process.stdin.isTTY) return text(process.stdin);
  return hidden(`${what.replace(/^the /, '').replace(/^./, (first) => first.toUpperCase())}: `);
}

/**
 * A secret from a file, standard input, or a prompt without echo, without outer spaces and line breaks.
 * @param what such as `the token`
 * @param source the file, and the option that names it
 * @throws UsageError when it cannot be read or is empty; Interrupted after Ctrl-C
 */
export async function readSecret(
  what: string,
  { file, option }: { readonly file: string | undefined; readonly option: string },
): Promise<string> {
  const secret = await read(what, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === undefined) throw error;
    // The value of the option may be the secret itself, by mistake.
    throw new UsageError(`failed to read the file of ${option} (${error.code})`);
  });
  if (secret.trim() !== '') return secret.trim();
  throw new UsageError(
    `${what} is empty: enter it at the prompt, or use ${option} FILE (- for standard input)`,
  );
}
