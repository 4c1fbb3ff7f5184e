/** A copy of Berth without one of its guards. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Guard } from './guard.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * The text of the guard's file without the guard.
 * @throws Error unless the patch applies exactly once
 */
export function without({ name, file, find, replace }: Guard): string {
  const parts = readFileSync(join(ROOT, file), 'utf8').split(find);
  if (parts.length !== 2)
    throw new Error(`the patch of guard "${name}" is found ${parts.length - 1} times in ${file}, not once`);
  return parts.join(replace);
}

export interface Checkout {
  readonly folder: string;
  remove(): void;
}

/** Copies the program, with the packages of this checkout, and takes the guard out. @throws Error as `without` */
export function checkOutWithout(guard: Guard): Checkout {
  const text = without(guard);
  const folder = mkdtempSync(join(tmpdir(), `berth-without-${guard.name}-`));
  for (const part of ['src', 'package.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, guard.file), text);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
