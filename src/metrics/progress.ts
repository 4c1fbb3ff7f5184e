import { Counter, Histogram, type Registry } from 'prom-client';
import { BUILD_ENDS, type ProgressMeasure, ROLLOUT_ENDS } from '../domain/revision/progress.ts';

/** Defines the metrics of the results and durations of rollouts and builds. */

const ROLLOUT_BUCKETS = [1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 3600];
const BUILD_BUCKETS = [5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600];

interface Ends<Label extends string> {
  /** Name of the counter, without `_total`. */
  readonly name: string;
  readonly help: string;
  /** All possible results. */
  readonly known: Readonly<Record<string, readonly string[]>>;
  readonly seconds: {
    readonly name: string;
    readonly help: string;
    readonly labels: readonly Label[];
    readonly buckets: number[];
  };
}

interface End<Label extends string> {
  readonly result: string;
  readonly reason: string;
  /** null: not known. */
  readonly seconds: number | null;
  readonly more: Readonly<Record<Label, string>>;
}

/** Counts results by reason and measures durations. */
function endMetrics<Label extends string = never>(
  registers: [Registry],
  { name, help, known, seconds }: Ends<Label>,
): (end: End<Label>) => void {
  const ends = new Counter({
    name: `${name}_total`,
    help: `${help}, by result (${Object.keys(known).join(', ')}) and reason.`,
    labelNames: ['result', 'reason'],
    registers,
  });
  // All series start at 0, because Prometheus detects no increase in a series that starts at 1, and the first failure
  // of a kind would be invisible.
  for (const [result, reasons] of Object.entries(known))
    for (const reason of reasons) ends.inc({ result, reason }, 0);
  const took = new Histogram<string>({
    name: seconds.name,
    help: seconds.help,
    labelNames: ['result', ...seconds.labels],
    buckets: seconds.buckets,
    registers,
  });
  return ({ result, reason, seconds: measured, more }) => {
    ends.inc({ result, reason });
    if (measured !== null) took.observe({ result, ...more }, measured);
  };
}

/** Registers the metrics of results of rollouts, builds and deployments, from reports. */
export function progressMetrics(registry: Registry): (measure: ProgressMeasure) => void {
  const registers: [Registry] = [registry];
  const ready = new Histogram({
    name: 'berth_deployment_ready_seconds',
    help: 'Seconds from the request that created the revision until the deployment was READY for the first time.',
    buckets: ROLLOUT_BUCKETS,
    registers,
  });
  const rollouts = endMetrics<'built'>(registers, {
    name: 'berth_rollouts',
    help: 'Revisions that reached a final status',
    known: ROLLOUT_ENDS,
    seconds: {
      name: 'berth_rollout_duration_seconds',
      help: 'Seconds from the creation of a revision until its final status. built: the image was built in this time.',
      labels: ['built'],
      buckets: ROLLOUT_BUCKETS,
    },
  });
  const builds = endMetrics(registers, {
    name: 'berth_builds',
    help: 'Builds that finished',
    known: BUILD_ENDS,
    seconds: {
      name: 'berth_build_duration_seconds',
      help: 'Seconds from the start of the Job of a build until its end.',
      labels: [],
      buckets: BUILD_BUCKETS,
    },
  });
  return (measure) => {
    if (measure.kind === 'ready') return ready.observe(measure.seconds);
    if (measure.kind === 'build') return builds({ ...measure, more: {} });
    return rollouts({ ...measure, more: { built: String(measure.built) } });
  };
}
