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
  /** Worlds side by side. */
  readonly parallel: number;
  /**
   * No plan is begun so long after cluster and PostgreSQL run, nor one whose own deadline is above what is left. What
   * they take to start is not counted: the first time they are built.
   */
  readonly budgetSeconds?: number | undefined;
  readonly signal: AbortSignal;
  readonly onVerdict: (verdict: Verdict) => void;
}

export interface RunResult {
  readonly verdicts: readonly Verdict[];
  /** Names of the plans that have no verdict: not begun, or broken off. */
  readonly left: readonly string[];
  readonly seconds: number;
}

/** Cluster and PostgreSQL of a run, gone when `use` has ended, however it has. */
export async function withParts<T>(use: (parts: RunParts) => Promise<T>): Promise<T> {
  // What is built the first time takes minutes: it is told on standard error.
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

/** Runs plans, those that must be alone last. Where the time is too short for any, nothing is started. */
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

/** Until all that fit are judged, or the run is stopped. */
async function playAll(parts: RunParts, options: RunOptions, verdicts: Verdict[]): Promise<void> {
  const { plans, signal, budgetSeconds = Number.POSITIVE_INFINITY } = options;
  const until = Date.now() + budgetSeconds * 1000;
  const runner = new Runner(parts);
  const progress = new Progress(plans.length);
  const untold = progress.tell();
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
    untold();
    await runner.stop();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Records the effects of all workloads, or of some, anew. */
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
