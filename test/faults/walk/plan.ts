/** The walk as a plan, with its own cluster and oracles. */
import type { FaultPlan, Violation } from '../plan.ts';
import { numberFromEnvironment } from '../plans/steps.ts';
import { runWalk, WHOLE_STEPS } from './walk.ts';

const SEED = numberFromEnvironment('FAULTS_WALK_SEED', 1);
const LANES = 4;
/** Each lane makes a complete sequence, because many short sequences do not find errors that need a long history. */
const STEPS = numberFromEnvironment('FAULTS_WALK_STEPS', LANES * WHOLE_STEPS);
/** A step takes about one second of a processor, and longer on a busy machine. */
const DEADLINE_SECONDS = 3600;

export const walkPlan: FaultPlan = {
  name: 'walk',
  says: `${STEPS} changes (FAULTS_WALK_STEPS) of every field of the specification, with seed ${SEED} (FAULTS_WALK_SEED), in ${LANES} parallel lanes of ${Math.ceil(STEPS / LANES)}: each is rejected without an effect, or applied.`,
  alone: true,
  apart: true,
  deadlineSeconds: DEADLINE_SECONDS,
  run: async (_world, addFigure) => {
    const { steps, shortest, accepted, rejected, checkpoints, violations, figures, missing } = await runWalk({
      seed: SEED,
      steps: STEPS,
      lanes: LANES,
      log: () => undefined,
      signal: AbortSignal.timeout((DEADLINE_SECONDS - 60) * 1000),
    });
    addFigure(
      `seed ${SEED}: ${steps} steps (${accepted} accepted, ${rejected} rejected), at least ${shortest} per lane, ${checkpoints} comparisons with a fresh deployment`,
    );
    for (const line of figures) addFigure(line);
    if (missing.length > 0) addFigure(`missed: ${missing.join(', ')}`);
    return violations.map(
      (found): Violation => ({
        oracle: 'plan',
        message: `${found.oracle}: seed ${found.seed}, lane ${found.lane}, step ${found.step}: ${found.message}`,
        diff: [...found.diff, ...found.history],
      }),
    );
  },
};
