/**
 * Watches are cut every few seconds for a long time, during steady changes: nothing grows, and the state is correct.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { QUIET_MS } from '../oracles/quiescence.ts';
import type { AddFigure, FaultPlan, Violation } from '../plan.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, changeImage, numberFromEnvironment, serving } from './steps.ts';
import { COLLECTING, liveUsage, MIB, mib, slopeAnHour, type Usage } from './usage.ts';

const SECONDS = numberFromEnvironment('FAULTS_SOAK_SECONDS', 600);
const DEPLOYMENTS = 4;
const CUT_EVERY_MS = 3_000;
const CHANGE_EVERY_MS = 2_000;
const SAMPLE_EVERY_MS = 5_000;
const HOWS = ['end', 'mid-line', 'reset', 'gone-event'] as const;

/**
 * Each sample is taken after a full collection, so that the heap has only live objects. Work in progress changes it by some
 * 0.2 MiB: the median of the last third may be so much above that of the second (the first is for warming up). Their
 * middles are a third of the time apart, in ten minutes 200 s: a hundred changes, and of each watch that is open about 55
 * cuts, in all 680 of the operator's twelve. So this finds what keeps 21 KiB of each change, 3 KiB of each broken watch of
 * the operator or 37 KiB of the listener's one; of what grows by the clock alone, 36 MiB an hour. The run tells what its
 * own numbers come to. Less takes a longer one: 1 MiB an hour takes six. The history of the deployments, which is to grow, is in PostgreSQL.
 */
const MOST_GROWTH_BYTES = 2 * MIB;
/** RSS is given back late, and by what else runs on the machine. */
const MOST_RSS_GROWTH_BYTES = 16 * MIB;
/** Pools have more connections or fewer as calls meet each other; one that is kept of each cut or change is dozens. */
const MOST_MORE_SOCKETS = 6;

const ROLES = ['operator', 'listener'] as const;
/** All that is done is done as often as this part of what the clock would allow, at least: a machine may be busy. */
const LEAST_PART = 0.5;
/** A watch that breaks in the middle of a line has a turn of twice the time, and may have no event: it is not counted on. */
const CYCLE_MS = CUT_EVERY_MS * (HOWS.length + 1);
const SURE_CUTS_A_CYCLE = HOWS.length - 1;
const LEAST_CHANGES = LEAST_PART * ((SECONDS * 1000) / CHANGE_EVERY_MS);

/** @param watches how many a role has open at once */
const leastCuts = (watches: number) =>
  LEAST_PART * watches * SURE_CUTS_A_CYCLE * Math.floor((SECONDS * 1000) / CYCLE_MS);

/** Every watch that is open is broken, each time in another way. @returns how many have ended by it, by role */
async function cutWatches(world: FaultWorld, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const cuts = new Map<string, number>();
  for (let turn = 0; !signal.aborted; turn += 1) {
    const how = HOWS[turn % HOWS.length] ?? 'end';
    const onCut = ({ client }: KubernetesRequest) => {
      cuts.set(client, (cuts.get(client) ?? 0) + 1);
    };
    const rule = world.kubernetes.add({
      match: ({ verb, client }) => verb === 'watch' && ROLES.some((role) => role === client),
      fault: { kind: 'cut-watch', afterEvents: how === 'mid-line' ? 1 : 0, how, onCut },
    });
    await sleep(how === 'mid-line' ? CUT_EVERY_MS : 0);
    rule.remove();
    await sleep(CUT_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return cuts;
}

async function change(world: FaultWorld, ids: readonly string[], signal: AbortSignal): Promise<number> {
  let number = 0;
  while (!signal.aborted) {
    await changeImage(world, ids[number % ids.length] ?? '', `soak-${number}`);
    number += 1;
    await sleep(CHANGE_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return number;
}

async function sample(world: FaultWorld, into: Usage[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    into.push(...(await liveUsage(world)));
    // What passed is not needed any more, and would fill this process.
    for (const proxy of [world.kubernetes, world.hub, world.postgres]) proxy.clear();
    await sleep(SAMPLE_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

type Figure = 'rss' | 'heap' | 'sockets';

function median(samples: readonly Usage[], what: Figure): number {
  const sorted = samples.map((found) => found[what]).sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const LIMITS = [
  { what: 'heap', name: 'live heap', most: MOST_GROWTH_BYTES, told: mib },
  { what: 'rss', name: 'RSS', most: MOST_RSS_GROWTH_BYTES, told: mib },
  { what: 'sockets', name: 'sockets', most: MOST_MORE_SOCKETS, told: String },
] as const;

/** The least that shows when it is kept of each of so many in the whole run. */
const leastSeen = (count: number) => `${(MOST_GROWTH_BYTES / 1024 / (count / 3)).toFixed(1)} KiB of each`;

function judge(role: string, samples: readonly Usage[], checks: Checks, tell: AddFigure): void {
  const third = Math.floor(samples.length / 3);
  const [middle, last, warm] = [
    samples.slice(third, 2 * third),
    samples.slice(2 * third),
    samples.slice(third),
  ];
  for (const { what, name, most, told } of LIMITS) {
    const [before, after] = [median(middle, what), median(last, what)];
    const all = warm.map((found) => found[what]);
    const range = `from ${told(Math.min(...all))} to ${told(Math.max(...all))}`;
    const hourly =
      what === 'heap'
        ? `, ${mib(slopeAnHour(warm, (sample) => sample[what]))} an hour through all of them`
        : '';
    tell(`${role}: ${name} at its median ${told(before)}, later ${told(after)}; samples ${range}${hourly}`);
    // Written so that what was not measured does not hold.
    checks.that(after - before <= most, `${role}: ${name} has grown from ${told(before)} to ${told(after)}`);
  }
}

export const soakPlans: readonly FaultPlan[] = [
  {
    name: 'soak/watch-cuts',
    alone: true,
    settings: COLLECTING,
    deadlineSeconds: SECONDS + 300,
    says: `${SECONDS} s (FAULTS_SOAK_SECONDS) in which all watches are cut every ${CUT_EVERY_MS / 1000} s, and ${DEPLOYMENTS} deployments are changed every ${CHANGE_EVERY_MS / 1000} s: memory and sockets do not grow, and the state is correct.`,
    run: async (world, tell): Promise<Violation[]> => {
      const checks = new Checks();
      const names = Array.from({ length: DEPLOYMENTS }, (_, index) => `soak-${index}`);
      const ids = await Promise.all(names.map((name) => serving(world, name)));
      const watches = new Map(ROLES.map((role) => [role, world.kubernetes.openWatches(role).length]));
      const over = AbortSignal.timeout(SECONDS * 1000);
      const samples: Usage[] = [];
      const [cuts, changes] = await Promise.all([
        cutWatches(world, over),
        change(world, ids, over),
        sample(world, samples, over),
      ]);
      await Promise.all(ids.map((id) => world.ready(id)));
      await world.quiet({ forMs: QUIET_MS, timeoutMs: 60_000 });
      for (const [role, open] of watches) {
        const [broken, least] = [cuts.get(role) ?? 0, leastCuts(open)];
        tell(
          `${role}: ${open} watches, broken ${broken} times (at least ${least}); ${leastSeen(broken)} kept would be found`,
        );
        checks.that(
          open > 0 && broken >= least,
          `${role}: ${open} watches were broken ${broken} times, at least ${least} were expected`,
        );
      }
      tell(
        `${SECONDS} s: ${changes} changes, ${samples.length} samples; ${leastSeen(changes)} kept would be found`,
      );
      checks.that(
        changes >= LEAST_CHANGES,
        `${changes} changes within ${SECONDS} s, at least ${LEAST_CHANGES} were expected`,
      );
      for (const role of ['api', 'listener', 'operator'])
        judge(
          role,
          samples.filter((found) => found.role === role),
          checks,
          tell,
        );
      return checks.violations;
    },
  },
];
