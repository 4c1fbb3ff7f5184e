/** The walk alone: `node test/faults/walk/main.ts [--seed N] [--steps N] [--lanes N]`. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runWalk, type WalkViolation } from './walk.ts';

const HELP = `usage: node test/faults/walk/main.ts [OPTIONS]
Walks deployments through random changes of their specs and revisions, on a PostgreSQL, a Kubernetes control plane with
simulated nodes and a Berth that it starts and ends, and looks after each change whether all is as it has to be.

  --seed N      chooses the changes; printed, so that a walk can be repeated (default: a random one)
  --steps N     calls of the API, of all lanes together (default 300)
  --lanes N     deployments that are walked side by side (default 6)
  --seconds N   begin no step later than that; what was begun is looked at to its end
  --quiet       tell violations and the end alone
  --help        this text

Ends with 0 when every oracle held, 1 with a violation or when the walk could not be made, 130 when it was stopped.`;

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Error(`--${name} takes a whole number of at least ${least}, not "${text}"`);
}

function tell({ oracle, seed, lane, step, message, diff, history }: WalkViolation): void {
  console.log(`\nVIOLATION ${oracle}: seed ${seed}, lane ${lane}, step ${step}\n  ${message}`);
  for (const line of diff) console.log(`    ${line}`);
  console.log('  since the lane was last found well:');
  for (const line of history) console.log(`    ${line}`);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      steps: { type: 'string', default: '300' },
      lanes: { type: 'string', default: '6' },
      seconds: { type: 'string' },
      quiet: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const seed = values.seed === undefined ? randomInt(2 ** 31) : wholeNumber('seed', values.seed, 0);
  const steps = wholeNumber('steps', values.steps, 1);
  const lanes = wholeNumber('lanes', values.lanes, 1);
  const seconds = values.seconds === undefined ? undefined : wholeNumber('seconds', values.seconds, 1);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  const log = (line: string) => {
    if (!values.quiet || line.startsWith('VIOLATION')) console.log(line);
  };
  console.log(`seed ${seed}`);
  try {
    const result = await runWalk({ seed, steps, lanes, seconds, log, signal: stopping.signal });
    for (const violation of result.violations) tell(violation);
    const { accepted, refused, checkpoints, violations, seconds: took } = result;
    console.log(
      `\nseed ${seed}: ${result.steps} steps (${accepted} taken, ${refused} refused), ${checkpoints} checkpoints, ` +
        `${violations.length} violations, ${took.toFixed(0)} s (${(result.steps / took).toFixed(2)} steps/s)`,
    );
    for (const line of [...result.figures, ...result.missing]) console.log(`  ${line}`);
    return violations.length === 0 ? 0 : 1;
  } catch (error) {
    if (stopping.signal.aborted) return 130;
    throw error;
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
}
