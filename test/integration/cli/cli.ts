/** Runs the program `berth` as a user does. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

export interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** @param env all variables besides PATH */
export function runProgram(
  words: readonly string[],
  options: { readonly input?: string; readonly env: Readonly<Record<string, string>> },
): Promise<Run> {
  const env = { PATH: process.env['PATH'] ?? '', ...options.env };
  return new Promise<Run>((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...words], { env });
    let out = '';
    let err = '';
    child.stdout.on('data', (data) => {
      out += data;
    });
    child.stderr.on('data', (data) => {
      err += data;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
    child.stdin.end(options.input ?? '');
  });
}
