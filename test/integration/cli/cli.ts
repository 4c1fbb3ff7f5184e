/** Runs the program `berth` as a user does. */
import { spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { BinariesMissingError } from '../../cluster/binaries.ts';
import { resolveTmux } from '../../cluster/tmux.ts';

export const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** The program of this checkout: its executable and first arguments. */
const CHECKOUT: readonly string[] = [process.execPath, main];

export interface Run {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * @param options.env all variables, except that PATH has a default
 * @param options.program the executable and its first arguments, if not those of this checkout
 */
export function runProgram(
  words: readonly string[],
  options: {
    readonly input?: string;
    readonly env: Readonly<Record<string, string>>;
    readonly program?: readonly string[];
  },
): Promise<Run> {
  const env = { PATH: process.env['PATH'] ?? '', ...options.env };
  const [executable = '', ...first] = options.program ?? CHECKOUT;
  return new Promise<Run>((resolve, reject) => {
    const child = spawn(executable, [...first, ...words], { env });
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

let sessions = 0;

const found = await resolveTmux().catch((error: unknown) => {
  if (!(error instanceof BinariesMissingError)) throw error;
  console.warn(`prompts are not tested in a terminal: ${error.message}`);
  return null;
});
export const hasTmux = found !== null;

/**
 * A terminal with a shell that runs `berth`, and then prints its exit code and whether the terminal has its settings back.
 * @param env variables of the command. HOME is the folder of the script
 */
export function terminal(
  words: readonly string[],
  env: Readonly<Record<string, string>> & { HOME: string },
  program = CHECKOUT,
) {
  const socket = `berth-${process.pid}`;
  if (found === null) throw new Error('failed to open a terminal: tmux is not available');
  const tmux = (...args: string[]) => found.run(socket, ...args);
  const command = [...program, ...words].map((word) => `'${word}'`).join(' ');
  const variables = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
  const script = join(env.HOME, 'run.sh');
  const lines = [
    '#!/bin/sh',
    // Ctrl-C ends the command, and not this script. The command does not inherit a trap.
    'trap : INT',
    'before=$(stty -g)',
    `${variables.join(' ')} ${command}`,
    'echo "exit code $?"',
    '[ "$(stty -g)" = "$before" ] && echo "terminal restored"',
    'sleep 300',
  ];
  writeFileSync(script, lines.map((line) => `${line}\n`).join(''));
  chmodSync(script, 0o700);
  const session = `session-${++sessions}`;
  tmux('new-session', '-d', '-s', session, '-x', '120', '-y', '30', script);
  onTestFinished(() => void tmux('kill-session', '-t', session));
  return {
    type: (text: string) => tmux('send-keys', '-t', session, '-l', text),
    press: (key: string) => tmux('send-keys', '-t', session, key),
    screen: () => tmux('capture-pane', '-t', session, '-p'),
  };
}
