/** What parts of a round take of the processors, where only afterwards a log tells when each began. */
import { cpus } from 'node:os';
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
  /** Of the role, since its start. */
  readonly role: number;
}

export interface PhaseWatch {
  /**
   * Between two moments, in ms since the epoch, told to a look: processor time of the role and of Kubernetes, in
   * seconds, and the share of all processors that had nothing to do.
   */
  between(phase: string, from: number, to: number): Sample;
  stop(): void;
}

/** Names of what `between` tells of a phase, with the units of a bench's measures. */
export const phaseMeasures = (phase: string, role?: ClusterRole) => [
  ...(role === undefined ? [] : [{ name: `${phase}: ${role} processor`, unit: 's' }]),
  { name: `${phase}: kubernetes processor`, unit: 's' },
  { name: `${phase}: processors at rest`, unit: '%' },
];

/** Looks at the machine again and again until it is stopped. While the role does not run it takes nothing. */
export function watchPhases(berth: ClusterBerth, role?: ClusterRole): PhaseWatch {
  const looks: Look[] = [];
  const look = () => {
    const kubernetes = [...berth.cpuOfKubernetes().values()].reduce((sum, seconds) => sum + seconds, 0);
    looks.push({
      at: Date.now(),
      idle: idleMs(),
      kubernetes: kubernetes * MS,
      role: role ? cpuOf(berth, role) : 0,
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
      return {
        ...(role ? { [`${phase}: ${role} processor`]: (last.role - first.role) / MS } : {}),
        [`${phase}: kubernetes processor`]: (last.kubernetes - first.kubernetes) / MS,
        [`${phase}: processors at rest`]: ((last.idle - first.idle) / whole) * PERCENT,
      };
    },
    stop: () => clearInterval(timer),
  };
}

function cpuOf(berth: ClusterBerth, role: ClusterRole): number {
  try {
    return berth.cpuOf(role) * MS;
  } catch {
    return 0;
  }
}

function nearest(looks: readonly Look[], at: number): Look {
  return looks.reduce((best, each) => (Math.abs(each.at - at) < Math.abs(best.at - at) ? each : best));
}
