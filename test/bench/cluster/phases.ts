/** What parts of a round take of the processors, where only afterwards a log tells when each began. */
import { runningPid } from '../../cluster/processes.ts';
import type { Sample } from '../bench.ts';
import type { ClusterBerth, ClusterRole } from './berth.ts';
import { betweenLooks, lookAtMachine, type MachineLook } from './costs.ts';

const LOOK_MS = 100;

/** `time` in ms since the epoch, as logs have it. */
type Look = MachineLook & { readonly time: number };

export interface PhaseWatch {
  /**
   * Between two moments, in ms since the epoch, told to a look: processor time of each role and of Kubernetes, in
   * seconds, and the share of all processors that had nothing to do.
   */
  between(phase: string, from: number, to: number): Sample;
  stop(): void;
}

const costsOf = (roles: readonly ClusterRole[]) => [
  ...roles.map((role) => `${role} processor`),
  'kubernetes processor',
];

/** Names of what `between` tells of a phase, with the units of a bench's measures. */
export const phaseMeasures = (phase: string, roles: readonly ClusterRole[] = []) => [
  ...costsOf(roles).map((cost) => ({ name: `${phase}: ${cost}`, unit: 's' })),
  { name: `${phase}: processors at rest`, unit: '%' },
];

/** Looks at the machine again and again until it is stopped. A role that does not run yet has taken nothing. */
export function watchPhases(berth: ClusterBerth, roles: readonly ClusterRole[] = []): PhaseWatch {
  const looks: Look[] = [];
  const look = () => {
    const running = roles.filter((role) => runningPid(berth.stateDir, role) !== undefined);
    looks.push({ time: Date.now(), ...lookAtMachine(berth, running) });
  };
  const timer = setInterval(look, LOOK_MS).unref();
  look();
  return {
    between(phase, from, to) {
      look();
      const { spent, rest } = betweenLooks(nearest(looks, from), nearest(looks, to));
      const costs = costsOf(roles).map((cost) => [`${phase}: ${cost}`, spent[cost] ?? 0]);
      return { ...Object.fromEntries(costs), [`${phase}: processors at rest`]: rest };
    },
    stop: () => clearInterval(timer),
  };
}

function nearest(looks: readonly Look[], at: number): Look {
  return looks.reduce((best, each) => (Math.abs(each.time - at) < Math.abs(best.time - at) ? each : best));
}
