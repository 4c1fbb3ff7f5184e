/** What parts of a round take of the processors, where only afterwards a log tells when each began. */
import { cpus } from 'node:os';
import { runningPid } from '../../cluster/processes.ts';
import type { Sample } from '../bench.ts';
import type { ClusterBerth, ClusterRole } from './berth.ts';
import { idleMs } from './costs.ts';

const LOOK_MS = 100;
const MS = 1000;
const PERCENT = 100;

/** One look at the machine. Processor times in ms. */
interface Look {
  /** In ms since the epoch. */
  readonly at: number;
  /** Of all processors, with nothing to do. */
  readonly idle: number;
  readonly kubernetes: number;
  /** Of each role, since its start. */
  readonly roles: readonly number[];
}

export interface PhaseWatch {
  /**
   * Between two moments, in ms since the epoch, told to a look: processor time of each role and of Kubernetes, in
   * seconds, and the share of all processors that had nothing to do.
   */
  between(phase: string, from: number, to: number): Sample;
  stop(): void;
}

const roleMeasure = (phase: string, role: ClusterRole) => `${phase}: ${role} processor`;

/** Names of what `between` tells of a phase, with the units of a bench's measures. */
export const phaseMeasures = (phase: string, roles: readonly ClusterRole[] = []) => [
  ...roles.map((role) => ({ name: roleMeasure(phase, role), unit: 's' })),
  { name: `${phase}: kubernetes processor`, unit: 's' },
  { name: `${phase}: processors at rest`, unit: '%' },
];

/** Looks at the machine again and again until it is stopped. A role that does not run yet has taken nothing. */
export function watchPhases(berth: ClusterBerth, roles: readonly ClusterRole[] = []): PhaseWatch {
  const looks: Look[] = [];
  const cpuOf = (role: ClusterRole) =>
    runningPid(berth.stateDir, role) === undefined ? 0 : berth.cpuOf(role) * MS;
  const look = () => {
    const kubernetes = [...berth.cpuOfKubernetes().values()].reduce((sum, seconds) => sum + seconds, 0);
    looks.push({
      at: Date.now(),
      idle: idleMs(),
      kubernetes: kubernetes * MS,
      roles: roles.map(cpuOf),
    });
  };
  const timer = setInterval(look, LOOK_MS).unref();
  look();
  return {
    between(phase, from, to) {
      look();
      const [first, last] = [nearest(looks, from), nearest(looks, to)];
      // Of nothing at all no share is told.
      const whole = Math.max(1, last.at - first.at) * cpus().length;
      const spent = roles.map((role, at) => [
        roleMeasure(phase, role),
        ((last.roles[at] ?? 0) - (first.roles[at] ?? 0)) / MS,
      ]);
      return {
        ...Object.fromEntries(spent),
        [`${phase}: kubernetes processor`]: (last.kubernetes - first.kubernetes) / MS,
        [`${phase}: processors at rest`]: ((last.idle - first.idle) / whole) * PERCENT,
      };
    },
    stop: () => clearInterval(timer),
  };
}

function nearest(looks: readonly Look[], at: number): Look {
  return looks.reduce((best, each) => (Math.abs(each.at - at) < Math.abs(best.at - at) ? each : best));
}
