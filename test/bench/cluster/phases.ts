/** The processor time of the parts of a round. Only the log shows afterwards when each part began. */
import { runningPid } from '../../cluster/processes.ts';
import type { Sample } from '../bench.ts';
import type { ClusterBerth, ClusterRole } from './berth.ts';
import { betweenSnapshots, type MachineSnapshot, takeSnapshot } from './costs.ts';

const SAMPLE_EVERY_MS = 100;

/** A snapshot with the time in ms since the epoch, as in logs. */
type Snapshot = MachineSnapshot & { readonly time: number };

/** Takes snapshots of the machine. */
export interface PhaseWatch {
  /**
   * The costs between two times in ms since the epoch, rounded to the nearest snapshots: processor time of each role and of
   * Kubernetes in seconds, and the share of idle processors.
   */
  between(phase: string, from: number, to: number): Sample;
  stop(): void;
}

const costsOf = (roles: readonly ClusterRole[]) => [
  ...roles.map((role) => `${role} processor`),
  'kubernetes processor',
];

/** The measures that `between` returns for a phase. */
export const phaseMeasures = (phase: string, roles: readonly ClusterRole[] = []) => [
  ...costsOf(roles).map((cost) => ({ name: `${phase}: ${cost}`, unit: 's' })),
  { name: `${phase}: processors at rest`, unit: '%' },
];

/** Takes snapshots repeatedly until `stop`. A role that does not run yet has used no processor time. */
export function watchPhases(berth: ClusterBerth, roles: readonly ClusterRole[] = []): PhaseWatch {
  const snapshots: Snapshot[] = [];
  const sample = () => {
    const running = roles.filter((role) => runningPid(berth.stateDir, role) !== undefined);
    snapshots.push({ time: Date.now(), ...takeSnapshot(berth, running) });
  };
  const timer = setInterval(sample, SAMPLE_EVERY_MS).unref();
  sample();
  return {
    between(phase, from, to) {
      sample();
      const { spent, rest } = betweenSnapshots(nearest(snapshots, from), nearest(snapshots, to));
      const costs = costsOf(roles).map((cost) => [`${phase}: ${cost}`, spent[cost] ?? 0]);
      return { ...Object.fromEntries(costs), [`${phase}: processors at rest`]: rest };
    },
    stop: () => clearInterval(timer),
  };
}

function nearest(snapshots: readonly Snapshot[], at: number): Snapshot {
  return snapshots.reduce((best, each) =>
    Math.abs(each.time - at) < Math.abs(best.time - at) ? each : best,
  );
}
