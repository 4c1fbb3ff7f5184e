/**
 * Fuzzes the API against its own OpenAPI document for a given time. `npm test` does the same for less than two minutes.
 *
 *   npm run fuzz -- [--seconds N] [--seed N]
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

const HELP = `usage: npm run fuzz -- [--seconds N] [--seed N]
Sends requests generated from /openapi.json to an API with a PostgreSQL of its own. The exit code is 0 only when every
response matched the document. Default: 300 seconds, a random seed; the command prints the seed.`;

const MAX_SEED = 2 ** 31;

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0`);
  return value;
}

function main(args: string[]): void {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '300' },
      seed: { type: 'string', default: String(randomInt(1, MAX_SEED)) },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const seconds = positive('seconds', values.seconds);
  const seed = positive('seed', values.seed);
  console.log(`fuzzing for ${seconds} seconds with the seed ${seed}`);
  const environment = { BERTH_TEST_FUZZ_SECONDS: String(seconds), BERTH_TEST_FUZZ_SEED: String(seed) };
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'fuzz'], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  child.on('close', (code) => {
    process.exitCode = code ?? 1;
  });
}

try {
  main(process.argv.slice(2));
} catch (error) {
  console.error(`npm run fuzz: ${error instanceof Error ? error.message : String(error)}\n${HELP}`);
  process.exitCode = 2;
}
