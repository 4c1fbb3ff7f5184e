/** Silent watches and connections. The other watch plans are in watch-cuts.ts, list-cuts.ts and lost-events.ts. */
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import type { FaultRole, RoleProcess } from '../world.ts';
import { listCutPlans } from './list-cuts.ts';
import { lostEventPlans } from './lost-events.ts';
import { broken, change, imageChange, isUpToDate, runningDeployment, within } from './steps.ts';
import { areOpenAgain, watchCutPlans, watchName } from './watch-cuts.ts';

const RECOVERED_WITHIN_S = 30;
/** A stream without data on a working connection counts as dead after 90 s, because the server may be silent for 60 s. */
const SILENCE_NOTICED_WITHIN_S = 90;

const isWatch = ({ verb }: KubernetesRequest) => verb === 'watch';

/**
 * Whether the role has logged, since this log line, that the watch of each kind failed. Or it has given up its leadership,
 * and closed all watches.
 */
function hasNoticed(role: RoleProcess, from: number, kinds: readonly string[]): boolean {
  const lines = role.log().slice(from);
  if (lines.some(({ msg }) => msg === 'no longer leading')) return true;
  const failed = new Set(
    lines.filter(({ msg }) => String(msg).startsWith('list or watch failed')).map(({ kind }) => kind),
  );
  return kinds.every((kind) => failed.has(kind));
}

const kindOf = ({ resource }: KubernetesRequest) =>
  Object.values(RESOURCES).find(({ plural }) => plural === resource)?.kind ?? resource;

function silentConnection(role: FaultRole): FaultPlan {
  return {
    name: `watch/blackhole/${role}`,
    says: `No byte passes between the ${role} and the API server, and no connection ends: each watch notices it within ${RECOVERED_WITHIN_S} s, and is correct ${RECOVERED_WITHIN_S} s after the end of the fault.`,
    run: async (world): Promise<Violation[]> => {
      const { id } = await runningDeployment(world);
      const watches = world.kubernetes.openWatches(role);
      const from = world.process(role).log().length;
      world.kubernetes.blackhole(role);
      await change(world, id, imageChange('2.0.0'));
      const noticed = await within(
        RECOVERED_WITHIN_S,
        `the ${role} to notice that its watches are dead`,
        async () => hasNoticed(world.process(role), from, watches.map(kindOf)),
      );
      const opened = Date.now();
      world.kubernetes.open(role);
      const late = await within(
        RECOVERED_WITHIN_S,
        'the change to be applied, and each watch to be open',
        async () => areOpenAgain(world, watches.map(watchName), opened) && (await isUpToDate(world, id)),
      );
      return watches.length === 0 ? [broken('no watch was open')] : [...noticed, ...late];
    },
  };
}

/** Open streams stay open, but deliver nothing more. */
function silentStreams(role: FaultRole): FaultPlan {
  const seconds = SILENCE_NOTICED_WITHIN_S + RECOVERED_WITHIN_S;
  return {
    name: `watch/silent-streams/${role}`,
    says: `Every open watch of the ${role} delivers nothing, not even bookmarks, on a connection that works: correct within ${seconds} s.`,
    deadlineSeconds: 240,
    run: async (world): Promise<Violation[]> => {
      const { id } = await runningDeployment(world);
      const silenced = world.kubernetes.add({
        match: (request) => isWatch(request) && request.client === role,
        fault: { kind: 'filter-watch', drop: () => true },
      });
      const silent = world.kubernetes.openWatches(role).map(watchName);
      const from = Date.now();
      // Watches that are opened from now on are not silent.
      world.kubernetes.add({
        match: (request) => isWatch(request) && request.client === role,
        fault: { kind: 'delay', ms: 0 },
      });
      await change(world, id, imageChange('2.0.0'));
      const late = await within(
        seconds,
        'the change to be applied, and each watch to be open again',
        async () => areOpenAgain(world, silent, from) && (await isUpToDate(world, id)),
      );
      return silenced.taken() === 0 ? [broken('no watch was open')] : late;
    },
  };
}

export const watchPlans: readonly FaultPlan[] = [
  ...watchCutPlans,
  ...listCutPlans,
  ...(['operator', 'listener'] as const).flatMap((role) => [silentConnection(role), silentStreams(role)]),
  ...lostEventPlans,
];
