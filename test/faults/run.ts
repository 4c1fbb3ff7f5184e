/** The fault plans of a run: which, in which order, how many at once, within which time. */
import { startCluster } from '../cluster/cluster.ts';
import { startPostgres } from '../cluster/postgres.ts';
import type { FaultPlan, Verdict } from './plan.ts';
import { readRecording, recordWorkload, writeRecording } from './record.ts';
import { Runner } from './runner.ts';
import { type RunParts, startWorld } from './start-world.ts';
import { WORKLOADS } from './workloads.ts';

export interface RunOptions {
  readonly plans: readonly FaultPlan[];
  /** Worlds side by side. */
  readonly parallel: number;
  /** No plan is begun after that, nor one that names a longer time of its own than what is left. */
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
  const quiet = () => undefined;
  const starting = [startCluster({ log: quiet }), startPostgres({ log: quiet })] as const;
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

/** Runs plans, those that must be alone last. */
export async function runPlans(options: RunOptions): Promise<RunResult> {
  const begun = Date.now();
  const verdicts: Verdict[] = [];
  const waiting = {
    together: options.plans.filter(({ alone }) => alone !== true),
    alone: options.plans.filter(({ alone }) => alone === true),
  };
  const left = () => (options.budgetSeconds ?? Number.POSITIVE_INFINITY) * 1000 - (Date.now() - begun);
  /** Most plans take seconds; those that may take long say so. */
  const takeNext = (plans: FaultPlan[]) => {
    const index = plans.findIndex(({ deadlineSeconds = 0 }) => deadlineSeconds * 1000 <= left());
    return index < 0 || options.signal.aborted ? undefined : plans.splice(index, 1)[0];
  };
  await withParts(async (parts) => {
    const runner = new Runner(parts);
    const work = async (plans: FaultPlan[]) => {
      for (let plan = takeNext(plans); plan !== undefined; plan = takeNext(plans)) {
        const verdict = await runner.run(plan);
        if (options.signal.aborted) return;
        verdicts.push(verdict);
        options.onVerdict(verdict);
      }
    };
    const stopped = new Promise<void>((resolve) => {
      if (options.signal.aborted) resolve();
      options.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const all = async () => {
      await Promise.all(Array.from({ length: options.parallel }, () => work(waiting.together)));
      await work(waiting.alone);
    };
    try {
      await Promise.race([all(), stopped]);
    } finally {
      await runner.stop();
    }
  });
  const judged = new Set(verdicts.map(({ plan }) => plan));
  const unjudged = options.plans.map(({ name }) => name).filter((name) => !judged.has(name));
  return { verdicts, left: unjudged, seconds: Math.round((Date.now() - begun) / 1000) };
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
