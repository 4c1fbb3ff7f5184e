import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The entry point script of an image. Empty if the image has no such script. */
export function entrypointOf(name: string): string {
  const path = join(dirname(fileURLToPath(import.meta.url)), 'entrypoints', `${name}.sh`);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
