import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { logPath } from '../../cluster/processes.ts';
import { waitFor } from '../../cluster/wait.ts';
import { isKubernetesHeartbeat } from '../../faults/heartbeats.ts';
import type { KubernetesExchange } from '../../faults/proxies/kubernetes-traffic.ts';
import { logLines, logSize } from '../../installation/log-file.ts';
import type { Bench, Sample } from '../bench.ts';
import { processUsage } from '../process-usage.ts';
import { CLUSTER_ROLES, type ClusterBerth, type ClusterRole } from './berth.ts';
import { IDLE_SHARE, untilCalm } from './calm.ts';
import type { FloorList, FloorTimes } from './lists-floor.ts';
import { phaseMeasures, watchPhases } from './phases.ts';
import { isWrite, summaryOf } from './recording.ts';
import { BESIDE_MANY, filledWorld, MEMORY_GOAL } from './sides.ts';

const WITHIN_MS = 180_000;
/** A minute and a half for 5,000 deployments. */
const REST_MS = 18;
const LONGEST_REST_MS = 90_000;
const MS = 1000;
/** As the operator says it. */
const LEADING = 'leading';
const FILLED = 'caches are filled; reconciling';
const LOG_LOOK_MS = 250;
const PHASES = ['start', 'lists', 'looks'] as const;

const LISTS_FLOOR = fileURLToPath(new URL('lists-floor.ts', import.meta.url));

type LogLines = readonly Record<string, unknown>[];

/** What a log says about leading, and as a warning. */
function ofUse(log: LogLines): string[] {
  const isOfUse = ({ level, msg }: Record<string, unknown>) =>
    level !== 'info' || /lead|filled/.test(String(msg));
  return log.filter(isOfUse).map((line) => JSON.stringify(line));
}

/** What was asked with its answers, and what the operator's log has of use. */
function told(lists: readonly KubernetesExchange[], log: LogLines): string {
  const asked = lists.map(({ client, path, status }) => `${client} ${path} ${status}`);
  return [...asked.toSorted(), "the operator's log:", ...ofUse(log)].join('\n');
}

/**
 * The same lists again, of each role by its own rights, with nothing done with the answers. With what they take.
 * @throws Error when one was asked for twice: it is not known then what the start had to list
 */
async function rawLists(
  berth: ClusterBerth,
  work: readonly KubernetesExchange[],
  log: LogLines,
): Promise<Sample> {
  const firsts = work.filter(({ verb, path }) => verb === 'list' && !path.includes('continue='));
  const whose = firsts.map(({ client, path }) => `${client} ${new URL(path, 'https://kubernetes').pathname}`);
  if (new Set(whose).size < whose.length)
    throw new Error(
      `failed to tell what a start lists, for some of it was asked for twice: ${told(firsts, log)}`,
    );
  const lists: FloorList[] = firsts.map(({ client, path }) => ({
    kubeconfigPath: berth.kubeconfigOf(client as ClusterRole),
    path,
  }));
  const machine = watchPhases(berth);
  const running = promisify(execFile)(process.execPath, [LISTS_FLOOR], { timeout: WITHIN_MS });
  running.child.stdin?.on('error', () => undefined).end(JSON.stringify(lists));
  const { stdout } = await running.finally(() => machine.stop());
  const { began, ended } = JSON.parse(stdout) as FloorTimes;
  return { LISTs: (ended - began) / MS, ...machine.between('LISTs', began, ended) };
}

/** Figure by figure; both have the same. */
const meanOf = (a: Sample, b: Sample): Sample =>
  Object.fromEntries(
    Object.keys(a).map((name) => [name, ((a[name] ?? Number.NaN) + (b[name] ?? Number.NaN)) / 2]),
  );

export const bench: Bench = {
  name: 'restart',
  what: `Listener and operator stop and start again with {n} deployments, switched off: first behind a proxy that counts their requests, then without it. until quiet: from before the start until neither works any more (above ${100 * IDLE_SHARE} % of a core for half a second). LISTs: a separate process sends the same LIST requests with the client of Berth and discards the objects, before and after the restart; the mean of both. beyond the LISTs: the difference. start, lists, looks: the parts of the time until quiet, by the log of the operator: until it leads, until its caches are filled, and the reconciles. processor: what the roles and Kubernetes took in each part, and the share of idle processors. memory before: after a pause of up to ${LONGEST_REST_MS / MS} s. memory after: the maximum after the start.`,
  ...BESIDE_MANY,
  measures: [
    { name: 'until quiet', unit: 's' },
    { name: 'start', unit: 's' },
    { name: 'lists', unit: 's' },
    { name: 'looks', unit: 's' },
    { name: 'LISTs', unit: 's' },
    ...PHASES.flatMap((phase) => phaseMeasures(phase, CLUSTER_ROLES)),
    ...phaseMeasures('LISTs'),
    { name: 'beyond the LISTs', unit: 's', goal: { of: 'value', is: 'at most', limit: 5 } },
    { name: 'writes', unit: 'writes', goal: { of: 'value', is: 'at most', limit: 0 } },
    { name: 'reads', unit: 'requests' },
    ...['before', 'after'].flatMap((when) =>
      CLUSTER_ROLES.map((role) => ({
        name: `${role} memory ${when}`,
        unit: 'MiB',
        goal: MEMORY_GOAL,
      })),
    ),
  ],
  start: async (context) => {
    const count = context.n ?? BESIDE_MANY.n;
    const { berth } = await filledWorld(context, count);
    const { proxy } = berth;
    let asked = '';
    const ours = async (): Promise<Sample> => {
      // Those that have made all of it have had their rest by now.
      await sleep(Math.min(LONGEST_REST_MS, count * REST_MS));
      const memory = CLUSTER_ROLES.map((role) => [
        `${role} memory before`,
        processUsage(berth.pidOf(role)).rssMib,
      ]);
      proxy.clear();
      const log = logPath(berth.stateDir, 'operator');
      const from = logSize(log);
      await restarted(berth, true);
      const lines = logLines(log, from);
      const work = proxy.exchanges().filter((each) => !isKubernetesHeartbeat(each));
      const writes = work.filter(isWrite);
      const listsBefore = await rawLists(berth, work, lines);
      // What counts takes both processors to pass on all that is listed: it is not there while time is taken.
      const phases = await restarted(berth, false);
      const largest = CLUSTER_ROLES.map((role) => [
        `${role} memory after`,
        processUsage(berth.pidOf(role)).peakMib,
      ]);
      // How quick the machine is changes by the minute.
      const lists = meanOf(listsBefore, await rawLists(berth, work, lines));
      // The benches beside it count too.
      await restarted(berth, true);
      asked = summaryOf(work);
      return {
        ...phases,
        ...lists,
        'beyond the LISTs': (phases['until quiet'] ?? Number.NaN) - (lists['LISTs'] ?? Number.NaN),
        writes: writes.length,
        reads: work.length - writes.length,
        ...Object.fromEntries(memory),
        ...Object.fromEntries(largest),
      };
    };
    return {
      ours,
      notes: () => [
        `${count} deployments. Asked: ${asked}. The start of the processes is in the time. Before the first round the deployments were created, before the others these processes were started.`,
        berth.note,
      ],
    };
  },
};

/** Ends both roles and starts them again. In seconds, until they have nothing to do, and of what that is made. */
async function restarted(berth: ClusterBerth, behindProxy: boolean): Promise<Sample> {
  for (const role of CLUSTER_ROLES) await berth.end(role);
  const log = logPath(berth.stateDir, 'operator');
  const from = logSize(log);
  const began = Date.now();
  const machine = watchPhases(berth, CLUSTER_ROLES);
  try {
    await Promise.all(CLUSTER_ROLES.map((role) => berth.start(role, behindProxy)));
    const { leads, filled } = await whenFilled(log, from);
    const quiet = await untilCalm(berth, CLUSTER_ROLES, WITHIN_MS);
    return {
      'until quiet': (quiet - began) / MS,
      start: (leads - began) / MS,
      lists: (filled - leads) / MS,
      // Where there is little, all of it may be between two looks at the processes.
      looks: Math.max(0, quiet - filled) / MS,
      ...machine.between('start', began, leads),
      ...machine.between('lists', leads, filled),
      ...machine.between('looks', filled, Math.max(filled, quiet)),
    };
  } finally {
    machine.stop();
  }
}

/**
 * When the operator led, and when its caches were filled, in ms since the epoch, once it has said both: one whose lists are long
 * in coming has nothing to do until then, and is not calm for that.
 * @throws Error with what its log has of use
 */
async function whenFilled(log: string, from: number): Promise<{ leads: number; filled: number }> {
  const moments = async () => {
    const lines = logLines(log, from);
    const [leads, filled] = [whenTold(lines, LEADING), whenTold(lines, FILLED)];
    return !Number.isNaN(leads) && !Number.isNaN(filled) && { leads, filled };
  };
  return await waitFor("the operator's caches", moments, {
    timeoutMs: WITHIN_MS,
    intervalMs: LOG_LOOK_MS,
  }).catch((error: Error) => {
    throw new Error([error.message, "the operator's log:", ...ofUse(logLines(log, from))].join('\n'));
  });
}

/** In ms since the epoch; NaN: the log does not say so. */
const whenTold = (lines: LogLines, message: string): number =>
  Date.parse(String(lines.find(({ msg }) => msg === message)?.['time']));
