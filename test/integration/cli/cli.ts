/** Runs the program `berth` as a user does. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

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

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

/**
 * A terminal with a shell that runs `berth`, and then prints its exit code.
 * @param env variables of the command. HOME is the folder of the script
 */
export function terminal(words: readonly string[], env: Readonly<Record<string, string>> & { HOME: string }) {
  const socket = `berth-${process.pid}`;
  const tmux = (...args: string[]) => execFileSync('tmux', ['-L', socket, ...args], { encoding: 'utf8' });
  const command = [process.execPath, main, ...words].map((word) => `'${word}'`).join(' ');
  const variables = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
  const script = join(env.HOME, 'run.sh');
  writeFileSync(script, `#!/bin/sh\n${variables.join(' ')} ${command}\necho "exit code $?"\nsleep 60\n`);
  chmodSync(script, 0o700);
  tmux('new-session', '-d', '-x', '120', '-y', '30', script);
  onTestFinished(() => void spawnSync('tmux', ['-L', socket, 'kill-server']));
  return {
    type: (text: string) => tmux('send-keys', '-l', text),
    press: (key: string) => tmux('send-keys', key),
    screen: () => tmux('capture-pane', '-p'),
  };
}
