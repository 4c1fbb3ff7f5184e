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
 * Each sample is taken after a full collection, so the heap contains only live objects. Work in progress changes it by about
 * 0.2 MiB. The limit is the difference between the medians of the second and the last third (the first third is warm-up).
 * The middles of these thirds are 200 s apart in a run of ten minutes. In this time there are a hundred changes, and about
 * 55 cuts of each watch: 680 of the operator's twelve watches. So the plan finds a leak of 21 KiB per change, 3 KiB per cut
 * of the operator or 37 KiB per cut of the listener's one watch, and growth over time of 36 MiB an hour. The figures of a
 * run state its own limits. A smaller leak needs a longer run: 1 MiB an hour needs six hours. The history of deployments
 * grows, but it is in PostgreSQL.
 */
const MAX_GROWTH_BYTES = 2 * MIB;
/** RSS is released late, and depends on other processes of the machine. */
const MAX_RSS_GROWTH_BYTES = 16 * MIB;
/** The number of pooled connections varies. A leak of one connection per cut or change would be dozens. */
const MAX_SOCKET_GROWTH = 6;

const ROLES = ['operator', 'listener'] as const;
/** The minimum part of the possible cuts and changes that must have been made. A machine may be busy. */
const MIN_PART = 0.5;
/** A cut in the middle of a line takes twice the time, and needs an event. So it is not expected in each cycle. */
const CYCLE_MS = CUT_EVERY_MS * (HOWS.length + 1);
const SURE_CUTS_A_CYCLE = HOWS.length - 1;
const MIN_CHANGES = MIN_PART * ((SECONDS * 1000) / CHANGE_EVERY_MS);

/** The expected number of cuts. @param watches number of open watches of the role */
const minCuts = (watches: number) =>
  MIN_PART * watches * SURE_CUTS_A_CYCLE * Math.floor((SECONDS * 1000) / CYCLE_MS);

/** Cuts every open watch repeatedly, each time in another way. Returns the number of cuts by role. */
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
    // Recorded messages are not needed, and would fill the memory of this process.
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
  { what: 'heap', name: 'live heap', max: MAX_GROWTH_BYTES, format: mib },
  { what: 'rss', name: 'RSS', max: MAX_RSS_GROWTH_BYTES, format: mib },
  { what: 'sockets', name: 'sockets', max: MAX_SOCKET_GROWTH, format: String },
] as const;

/** The smallest leak per operation that the plan finds. @param count number of operations in the whole run */
const smallestLeak = (count: number) => `${(MAX_GROWTH_BYTES / 1024 / (count / 3)).toFixed(1)} KiB`;

function judge(role: string, samples: readonly Usage[], checks: Checks, addFigure: AddFigure): void {
  const third = Math.floor(samples.length / 3);
  const [middle, last, warm] = [
    samples.slice(third, 2 * third),
    samples.slice(2 * third),
    samples.slice(third),
  ];
  for (const { what, name, max, format } of LIMITS) {
    const [before, after] = [median(middle, what), median(last, what)];
    const all = warm.map((found) => found[what]);
    const range = `from ${format(Math.min(...all))} to ${format(Math.max(...all))}`;
    const hourly =
      what === 'heap' ? `, ${mib(slopeAnHour(warm, (sample) => sample[what]))} an hour over all samples` : '';
    addFigure(
      `${role}: median of ${name} ${format(before)}, later ${format(after)}; samples ${range}${hourly}`,
    );
    // This form also fails if a value is NaN because nothing was measured.
    checks.that(
      after - before <= max,
      `${role}: ${name} has grown from ${format(before)} to ${format(after)}`,
    );
  }
}

export const soakPlans: readonly FaultPlan[] = [
  {
    name: 'soak/watch-cuts',
    alone: true,
    settings: COLLECTING,
    deadlineSeconds: SECONDS + 300,
    says: `${SECONDS} s (FAULTS_SOAK_SECONDS) in which all watches are cut every ${CUT_EVERY_MS / 1000} s, and ${DEPLOYMENTS} deployments are changed every ${CHANGE_EVERY_MS / 1000} s: memory and sockets do not grow, and the state is correct.`,
    run: async (world, addFigure): Promise<Violation[]> => {
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
        const [cut, min] = [cuts.get(role) ?? 0, minCuts(open)];
        addFigure(
          `${role}: ${open} watches, cut ${cut} times (at least ${min}); a leak of ${smallestLeak(cut)} per cut would be found`,
        );
        checks.that(
          open > 0 && cut >= min,
          `${role}: ${open} watches were cut ${cut} times, at least ${min} were expected`,
        );
      }
      addFigure(
        `${SECONDS} s: ${changes} changes, ${samples.length} samples; a leak of ${smallestLeak(changes)} per change would be found`,
      );
      checks.that(
        changes >= MIN_CHANGES,
        `${changes} changes within ${SECONDS} s, at least ${MIN_CHANGES} were expected`,
      );
      for (const role of ['api', 'listener', 'operator'])
        judge(
          role,
          samples.filter((found) => found.role === role),
          checks,
          addFigure,
        );
      return checks.violations;
    },
  },
];
