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
/** Pause per deployment: 90 s for 5,000. */
const PAUSE_PER_DEPLOYMENT_MS = 18;
const MAX_PAUSE_MS = 90_000;
const MS = 1000;
/** Messages in the log of the operator. */
const LEADING = 'leading';
const FILLED = 'caches are filled; reconciling';
const LOG_POLL_MS = 250;
const PHASES = ['start', 'lists', 'looks'] as const;

const LISTS_FLOOR = fileURLToPath(new URL('lists-floor.ts', import.meta.url));

type LogLines = readonly Record<string, unknown>[];

/** Warnings and errors of a log, and its lines about leadership and caches. */
function relevantLines(log: LogLines): string[] {
  const isRelevant = ({ level, msg }: Record<string, unknown>) =>
    level !== 'info' || /lead|filled/.test(String(msg));
  return log.filter(isRelevant).map((line) => JSON.stringify(line));
}

/** The lists with their statuses, and the relevant lines of the operator's log. */
function describe(lists: readonly KubernetesExchange[], log: LogLines): string {
  const requests = lists.map(({ client, path, status }) => `${client} ${path} ${status}`);
  return [...requests.toSorted(), "the operator's log:", ...relevantLines(log)].join('\n');
}

/**
 * Sends the same lists again with the rights of each role, and discards the objects. Returns the time and the costs.
 * @throws Error if a list was requested twice, because then it is unknown what the start had to list
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
      `failed to find the lists of a start, because some were requested twice: ${describe(firsts, log)}`,
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

/** The mean of two samples with the same measures. */
const meanOf = (a: Sample, b: Sample): Sample =>
  Object.fromEntries(
    Object.keys(a).map((name) => [name, ((a[name] ?? Number.NaN) + (b[name] ?? Number.NaN)) / 2]),
  );

export const bench: Bench = {
  name: 'restart',
  what: `Listener and operator stop and start again with {n} deployments, switched off: first behind a proxy that counts their requests, then without it. until quiet: from before the start until neither works any more (above ${100 * IDLE_SHARE} % of a core for half a second). LISTs: a separate process sends the same LIST requests with the client of Berth and discards the objects, before and after the restart; the mean of both. beyond the LISTs: the difference. start, lists, looks: the parts of the time until quiet, by the log of the operator: until it leads, until its caches are filled, and the reconciles. processor: what the roles and Kubernetes took in each part, and the share of idle processors. memory before: after a pause of up to ${MAX_PAUSE_MS / MS} s. memory after: the maximum after the start.`,
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
    let requests = '';
    const ours = async (): Promise<Sample> => {
      // After a pause, the processes that have created the deployments are idle.
      await sleep(Math.min(MAX_PAUSE_MS, count * PAUSE_PER_DEPLOYMENT_MS));
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
      // The time is measured without the proxy, which needs both processors to pass on the lists.
      const phases = await restarted(berth, false);
      const largest = CLUSTER_ROLES.map((role) => [
        `${role} memory after`,
        processUsage(berth.pidOf(role)).peakMib,
      ]);
      // The speed of the machine changes within minutes, so the lists are measured before and after.
      const lists = meanOf(listsBefore, await rawLists(berth, work, lines));
      // The other benches of this world need the proxy.
      await restarted(berth, true);
      requests = summaryOf(work);
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
        `${count} deployments. Requests: ${requests}. The time includes the start of the processes. The deployments were created before the first round.`,
        berth.note,
      ],
    };
  },
};

/** Restarts both roles. Returns the seconds until they have no more work, and of the parts of this time. */
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
      // Short work may fall between two samples.
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
 * When the operator led, and when its caches were filled, in ms since the epoch. Waits for both log messages, because a role
 * that waits for long lists has no work, but is not finished.
 * @throws Error with the relevant lines of its log
 */
async function whenFilled(log: string, from: number): Promise<{ leads: number; filled: number }> {
  const moments = async () => {
    const lines = logLines(log, from);
    const [leads, filled] = [timeOf(lines, LEADING), timeOf(lines, FILLED)];
    return !Number.isNaN(leads) && !Number.isNaN(filled) && { leads, filled };
  };
  return await waitFor("the operator's caches", moments, {
    timeoutMs: WITHIN_MS,
    intervalMs: LOG_POLL_MS,
  }).catch((error: Error) => {
    throw new Error([error.message, "the operator's log:", ...relevantLines(logLines(log, from))].join('\n'));
  });
}

/** The time of a log message, in ms since the epoch. NaN if the log does not contain it. */
const timeOf = (lines: LogLines, message: string): number =>
  Date.parse(String(lines.find(({ msg }) => msg === message)?.['time']));
