/**
 * The static checks that a change must pass before you commit it: types, lint, format, import rules, folder sizes and
 * vocabulary.
 *
 *   npm run check [-- --help]
 */
import { spawn } from 'node:child_process';

const HELP = `usage: npm run check
Runs, in parallel: tsc (types), the build of the console with its budget, biome (lint and format), the import rules and the folder sizes of src/, and the
vocabulary of new text (scripts/vocabulary.json).
Fix format and simple lint with: npm run format`;

const CHECKS: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ['types', 'tsc', '--noEmit', '--pretty', 'false'],
  ['types of the console', 'tsc', '--noEmit', '--pretty', 'false', '-p', 'src/console'],
  ['console', process.execPath, 'scripts/console.ts'],
  ['lint and format', 'biome', 'check', '--error-on-warnings', '.'],
  ['import rules', process.execPath, 'scripts/check-imports.ts'],
  ['folder sizes', process.execPath, 'scripts/check-folders.ts'],
  ['vocabulary', process.execPath, 'scripts/check-vocabulary.ts'],
];

/** Runs one command. Prints its output only if the command fails. */
function run(name: string, command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      env: { ...process.env, PATH: `node_modules/.bin:${process.env['PATH']}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.on('error', (error) => resolve(report(name, false, `${error.message}\nrun npm ci first`)));
    child.on('close', (code) => resolve(report(name, code === 0, output)));
  });
}

function report(name: string, passed: boolean, output: string): boolean {
  console.log(`${passed ? 'ok    ' : 'failed'} ${name}`);
  if (!passed) console.log(output.trimEnd());
  return passed;
}

if (process.argv.includes('--help')) {
  console.log(HELP);
} else {
  const passed = await Promise.all(CHECKS.map(([name, command, ...args]) => run(name, command, args)));
  process.exitCode = passed.every(Boolean) ? 0 : 1;
}
