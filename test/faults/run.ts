/** Runs fault plans in parallel worlds, within a time limit. */
import { startCluster } from '../cluster/cluster.ts';
import { startPostgres } from '../cluster/postgres.ts';
import type { FaultPlan, Verdict } from './plan.ts';
import { Progress } from './progress.ts';
import { readRecording, recordWorkload, writeRecording } from './record.ts';
import { Runner } from './runner.ts';
import { fits } from './select-plans.ts';
import { type RunParts, startWorld } from './start-world.ts';
import { WORKLOADS } from './workloads.ts';

export interface RunOptions {
  readonly plans: readonly FaultPlan[];
  /** Number of worlds, and so of plans that run at the same time. */
  readonly parallel: number;
  /**
   * No plan starts after this time, or with a deadline longer than the remaining time. The time counts from the moment when
   * cluster and PostgreSQL run, because their first start includes a build.
   */
  readonly budgetSeconds?: number | undefined;
  readonly signal: AbortSignal;
  readonly onVerdict: (verdict: Verdict) => void;
}

export interface RunResult {
  readonly verdicts: readonly Verdict[];
  /** Names of the plans without a verdict: not started, or interrupted. */
  readonly left: readonly string[];
  readonly seconds: number;
}

/** Starts cluster and PostgreSQL, calls `use`, and stops them, even after an error. */
export async function withParts<T>(use: (parts: RunParts) => Promise<T>): Promise<T> {
  // The first start builds programs, which takes minutes. So the user is informed.
  console.error('starting a Kubernetes control plane and a PostgreSQL …');
  const starting = [startCluster(), startPostgres()] as const;
  try {
    const [access, postgres] = await Promise.all(starting);
    return await use({ access, postgres });
  } finally {
    const started = await Promise.allSettled(starting);
    await Promise.all(
      started.map((result) => (result.status === 'fulfilled' ? result.value.stop() : undefined)),
    );
  }
}

/** Runs the plans. Those that must be alone run last. Starts nothing if no plan fits in the time. */
export async function runPlans(options: RunOptions): Promise<RunResult> {
  const begun = Date.now();
  const { plans, budgetSeconds = Number.POSITIVE_INFINITY } = options;
  const verdicts: Verdict[] = [];
  if (plans.some((plan) => fits(plan, budgetSeconds)))
    await withParts((parts) => playAll(parts, options, verdicts));
  const judged = new Set(verdicts.map(({ plan }) => plan));
  const left = plans.map(({ name }) => name).filter((name) => !judged.has(name));
  return { verdicts, left, seconds: Math.round((Date.now() - begun) / 1000) };
}

/** Runs plans until all that fit in the time have a verdict, or the signal fires. */
async function playAll(parts: RunParts, options: RunOptions, verdicts: Verdict[]): Promise<void> {
  const { plans, signal, budgetSeconds = Number.POSITIVE_INFINITY } = options;
  const until = Date.now() + budgetSeconds * 1000;
  const runner = new Runner(parts);
  const progress = new Progress(plans.length);
  const stopReporting = progress.start();
  const work = async (waiting: FaultPlan[]) => {
    for (let plan = next(waiting); plan !== undefined; plan = next(waiting)) {
      progress.begins(plan.name);
      const verdict = await runner.run(plan);
      if (signal.aborted) return;
      progress.ends(plan.name);
      verdicts.push(verdict);
      options.onVerdict(verdict);
    }
  };
  const next = (waiting: FaultPlan[]) => {
    const index = waiting.findIndex((plan) => fits(plan, (until - Date.now()) / 1000));
    return index < 0 || signal.aborted ? undefined : waiting.splice(index, 1)[0];
  };
  const all = async () => {
    const together = plans.filter(({ alone }) => alone !== true);
    await Promise.all(Array.from({ length: options.parallel }, () => work(together)));
    await work(plans.filter(({ alone }) => alone === true));
  };
  try {
    await Promise.race([all(), aborted(signal)]);
  } finally {
    stopReporting();
    await runner.stop();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Records the effects of all workloads again, or of those with these names. */
export async function record(names: readonly string[], log: (line: string) => void): Promise<void> {
  await withParts(async (parts) => {
    const world = await startWorld('record', parts);
    try {
      let recording = names.length === 0 ? {} : readRecording();
      for (const workload of WORKLOADS) {
        if (names.length > 0 && !names.includes(workload.name)) continue;
        const effects = await recordWorkload(world, workload);
        recording = { ...recording, [workload.name]: effects };
        log(`${workload.name}: ${effects.length} effects`);
      }
      writeRecording(recording);
    } finally {
      await world.stop();
    }
  });
}
