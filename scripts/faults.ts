/**
 * Runs fault plans. A plan injects one fault in one situation, on a real cluster and PostgreSQL. Oracles then check the state.
 *
 *   npm run faults [-- --list | --plan NAME | --only KIND | --json | --budget SECONDS | …] [--help]
 */
import { cpus } from 'node:os';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { GUARDS } from '../test/faults/guards/guards.ts';
import { countLine, type GuardVerdict, runGuards } from '../test/faults/guards/run-guards.ts';
import { writeGuards } from '../test/faults/guards/table.ts';
import { type FaultPlan, kindOf, PLAN_KINDS, type Verdict } from '../test/faults/plan.ts';
import { allPlans } from '../test/faults/plans.ts';
import {
  beneath,
  countLine as countPlans,
  countsOf,
  readRun,
  runMade,
  summary,
  today,
  withLater,
  writeResults,
} from '../test/faults/results.ts';
import { type RunResult, record, runPlans } from '../test/faults/run.ts';
import { chosen, mixed, tooSmall, worldsFor } from '../test/faults/select-plans.ts';

const HELP = `usage: npm run faults -- [OPTION …]
Runs fault plans on a separate Kubernetes control plane and PostgreSQL, and checks the oracles O1 to O9 after each
(docs/reliability.md). The last line has the counts: plans: N, held: N, broken: N. Exit code: 0 when all held, 1 when a plan broke
or none started, 2 when no plan is selected or an option is wrong. Every half minute, standard error lists the running plans.
  --list               print the names and descriptions of the plans, without running them
  --plan NAME          run the plan with this name, or else those whose names begin with it; may be repeated
  --only KIND          run the plans of this kind; may be repeated: ${PLAN_KINDS.join(', ')}
  --subset             run the plans that npm test runs
  --budget SECONDS     start no plan after this time, nor one whose own deadline is longer than the remaining time (walk,
                       soak, load, api-server-down, two-of-each and others). The time starts when the cluster and
                       PostgreSQL run. Started plans are completed, omitted plans are listed, and --seed sets the order
  --seed N             seed of the order with --budget; default 1
  --parallel N         number of parallel worlds, 1 to 8; default: three for each processor, 3 to 8
  --guards [NAME …]    remove each guard (test/faults/guards), or each of these, from a copy of Berth, and run its plans
                       until one breaks that holds with the guard. The last line has the counts:
                       guards: N, missed: N, not missed: N. Exit code: 0 only when all were missed
  --json               print verdicts as JSON lines on standard output; the last line has the counts and what was left out.
                       The line "plans: N, held: N, broken: N" is on standard error
  --record [WORKLOAD]  record the effects for the kill plans again, without running plans
  --write              update the results in docs/reliability.md, after a run of all plans, or for the guards of this run
  --from FILE          with --write: use the run that wrote FILE (--json); a second FILE, of a later run of some plans,
                       replaces their verdicts
  --commit COMMIT      with --from: the commit of the run, if FILE does not have it
  --help`;

const OPTIONS = {
  list: { type: 'boolean', default: false },
  plan: { type: 'string', multiple: true, default: [] as string[] },
  only: { type: 'string', multiple: true, default: [] as string[] },
  subset: { type: 'boolean', default: false },
  budget: { type: 'string' },
  seed: { type: 'string', default: '1' },
  parallel: { type: 'string', default: String(worldsFor(cpus().length)) },
  json: { type: 'boolean', default: false },
  guards: { type: 'boolean', default: false },
  record: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
  from: { type: 'string', multiple: true, default: [] as string[] },
  commit: { type: 'string' },
  help: { type: 'boolean', default: false },
} satisfies ParseArgsOptionsConfig;

function numberOf(name: string, text: string, max = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new Error(`--${name} must be a whole number from 1 to ${max}`);
  return value;
}

function printVerdict(
  { plan, held, violations, figures, seconds }: Verdict,
  done: number,
  all: number,
): void {
  console.log(
    `${`[${done}/${all}]`.padEnd(10)} ${held ? 'held  ' : 'BROKEN'} ${seconds.toFixed(1).padStart(6)} s  ${plan}`,
  );
  for (const figure of figures) console.log(`           ${figure}`);
  for (const violation of violations) {
    console.log(`           ${violation.oracle}: ${violation.message}`);
    for (const line of beneath(violation)) console.log(`             ${line}`);
  }
}

function parse(args: string[]) {
  return parseArgs({ args, options: OPTIONS, allowPositionals: true });
}
type Values = ReturnType<typeof parse>['values'];

function list(plans: readonly FaultPlan[], json: boolean): void {
  for (const { name, says } of plans)
    console.log(json ? JSON.stringify({ name, kind: kindOf({ name }), says }) : `${name}\n    ${says}`);
  if (!json) console.log(`plans: ${plans.length}`);
}

function writeUnlessLeft({ left }: RunResult, write: () => void): void {
  if (left.length === 0) write();
  else console.error(`wrote nothing: --write needs a run of all plans, and ${left.length} did not run`);
}

/** Writes the results of finished runs. @throws Error if a run has not ended */
function writeFrom(
  [file = '', ...later]: readonly string[],
  commit: string | undefined,
  every: readonly FaultPlan[],
): void {
  const finished = withLater(readRun(file), later.map(readRun));
  const { result, made } = finished;
  const judged = new Set(result.verdicts.map(({ plan }) => plan));
  const missing = every.filter(({ name }) => !judged.has(name));
  if (missing.length > 0) console.error(`not in ${file}: ${missing.map(({ name }) => name).join(', ')}`);
  const ran = every.filter(({ name }) => judged.has(name));
  const known =
    made === undefined ? finished : { ...finished, made: { ...made, commit: made.commit ?? commit } };
  writeUnlessLeft(result, () => writeResults(known, ran));
}

/** Runs the plans. Returns true if every plan ran, reached its fault as planned and held. */
async function run(
  plans: readonly FaultPlan[],
  every: readonly FaultPlan[],
  values: Values,
): Promise<boolean> {
  // Reads the commit before the run, because HEAD can change while the plans run.
  const made = runMade(process.argv.slice(2), process.env);
  const day = today();
  const budgetSeconds = values.budget === undefined ? undefined : numberOf('budget', values.budget);
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort(signal));
  let done = 0;
  const result = await runPlans({
    plans: budgetSeconds === undefined ? plans : mixed(plans, numberOf('seed', values.seed)),
    parallel: numberOf('parallel', values.parallel, 8),
    budgetSeconds,
    signal: stopping.signal,
    onVerdict: (verdict) => {
      done += 1;
      if (values.json) console.log(JSON.stringify(verdict));
      else printVerdict(verdict, done, plans.length);
    },
  });
  if (values.write) writeUnlessLeft(result, () => writeResults({ result, made, day }, every));
  if (values.json) {
    const { left, seconds } = result;
    console.log(JSON.stringify({ ...countsOf(result), left, seconds, made, day }));
    console.error(countPlans(result));
  } else console.log(summary(result).join('\n'));
  if (stopping.signal.aborted) return false;
  const isBegun = result.verdicts.length > 0;
  if (!isBegun && budgetSeconds !== undefined) console.error(tooSmall(plans, budgetSeconds));
  return isBegun && result.verdicts.every(({ held }) => held);
}

function printGuardVerdict({ guard, missed, plan, oracle, message, seconds }: GuardVerdict): void {
  console.log(`${missed ? 'missed    ' : 'NOT MISSED'} ${seconds.toFixed(1).padStart(6)} s  ${guard}`);
  console.log(`           ${missed ? `${plan}: ${oracle}: ` : ''}${message}`);
}

/** Runs the plans without a guard in the source. Returns true if a plan failed for each guard. @throws Error for an unknown name */
async function runWithoutGuards(names: readonly string[], every: readonly FaultPlan[], values: Values) {
  for (const name of names)
    if (!GUARDS.some((guard) => guard.name === name))
      throw new Error(
        `--guards: there is no guard "${name}": ${GUARDS.map((guard) => guard.name).join(', ')}`,
      );
  // Reads the commit before the run, because HEAD can change while the plans run.
  const { commit } = runMade(process.argv.slice(2), process.env);
  const guards = GUARDS.filter(({ name }) => names.length === 0 || names.includes(name));
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort(signal));
  const result = await runGuards({
    guards,
    plans: every,
    parallel: numberOf('parallel', values.parallel, 8),
    signal: stopping.signal,
    onVerdict: (verdict) => (values.json ? console.log(JSON.stringify(verdict)) : printGuardVerdict(verdict)),
  });
  if (values.write) writeGuards(GUARDS, result.verdicts, { day: today(), commit });
  if (!values.json) console.log(`${result.seconds} s\n${countLine(result)}`);
  return result.verdicts.length === guards.length && result.verdicts.every(({ missed }) => missed);
}

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parse(args);
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (positionals.length > 0 && !values.record && !values.guards)
    throw new Error(`unknown argument: ${positionals.join(' ')}`);
  if (values.record) {
    await record(positionals, console.log);
    return 0;
  }
  const every = allPlans();
  if (values.from.length > 0) {
    if (!values.write) throw new Error('--from needs --write');
    writeFrom(values.from, values.commit, every);
    return 0;
  }
  if (values.guards) return (await runWithoutGuards(positionals, every, values)) ? 0 : 1;
  const plans = chosen(every, values);
  if (values.write && plans.length < every.length) throw new Error('--write needs a run of all plans');
  if (!values.list) return (await run(plans, every, values)) ? 0 : 1;
  list(plans, values.json);
  return 0;
}

let code = 2;
try {
  code = await main(process.argv.slice(2));
} catch (error) {
  console.error(
    `npm run faults: ${error instanceof Error ? error.message : String(error)}\nsee: npm run faults -- --help`,
  );
}
// Exits even if a plan has left handles open: all results are printed, and all processes are stopped.
process.exit(code);
