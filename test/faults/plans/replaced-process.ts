/** A process that sleeps past its lease at one of its writes, and wakes when another one has taken over. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../cluster/wait.ts';
import { hubEffect, kindOfEffect, kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Violation, Workload } from '../plan.ts';
import type { HttpOutcome, HttpRequest } from '../proxies/http-traffic.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import { readRecording, SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultRole, FaultWorld, RoleProcess } from '../world.ts';
import { changeImage } from './checks.ts';
import { EffectDidNotOccur } from './kill.ts';
import { broken, idOf } from './steps.ts';

/** A lease of the operator runs out after 15 s, one of the listener after 20 s; the rest is for a busy machine. */
const TAKEN_OVER_MS = 60_000;
/** The one that wakes may do its worst for so long before the oracles look. */
const AWAKE_MS = 3_000;

/** Who leads, as those say who count: the Lease, and the hub. */
export async function leaderOf(world: FaultWorld, role: FaultRole): Promise<string> {
  if (role === 'listener') {
    const [row] = await world.sql<{ holder: string | null }>('SELECT lease_holder AS holder FROM listeners');
    return row?.holder ?? '';
  }
  const args = [
    '-n',
    world.ownNamespace,
    'get',
    'lease',
    'berth-operator',
    '-o',
    'jsonpath={.spec.holderIdentity}',
  ];
  return (await world.kubectl(...args)).trim();
}

/** Holders are called by host, process and a random part. */
export const isHeldBy = (holder: string, { pid }: RoleProcess) => holder.includes(`_${pid}_`);

export function untilLeads(world: FaultWorld, leader: RoleProcess): Promise<true> {
  return waitFor(
    `${leader.name} to lead`,
    async () => isHeldBy(await leaderOf(world, leader.role), leader) || undefined,
    { timeoutMs: TAKEN_OVER_MS, intervalMs: 100 },
  );
}

interface Write {
  readonly role: 'operator' | 'listener';
  readonly workload: string;
  /** As recorded: `apply deployments shop-x-api`, `post reports`. */
  readonly what: string;
}

/** Where it matters which object it is, or in which workload. */
const CHOSEN: readonly Write[] = [
  { role: 'operator', workload: 'create', what: 'create secrets shop-x-db' },
  { role: 'operator', workload: 'create', what: 'create persistentvolumeclaims shop-x-db' },
  { role: 'operator', workload: 'create', what: 'apply statefulsets shop-x-db' },
  { role: 'operator', workload: 'create', what: 'update manageddeployments-status shop-x' },
  { role: 'operator', workload: 'update', what: 'apply deployments shop-x-api' },
  { role: 'operator', workload: 'update', what: 'create controllerrevisions shop-x-2' },
  { role: 'operator', workload: 'autoscaler-off', what: 'delete horizontalpodautoscalers shop-x-api' },
  { role: 'listener', workload: 'create', what: 'create secrets shop-x-env-1' },
  { role: 'listener', workload: 'create', what: 'create manageddeployments shop-x' },
  { role: 'listener', workload: 'update', what: 'apply manageddeployments shop-x' },
  { role: 'listener', workload: 'update', what: 'post reports' },
  { role: 'listener', workload: 'delete', what: 'delete manageddeployments shop-x' },
];

/** Nothing is decided by it. */
const TOLD = 'tell events';

/** Every kind of write that a role does: of those that were not chosen, the first that is recorded. */
function everyKind(): Write[] {
  const writes = [...CHOSEN];
  for (const [workload, effects] of Object.entries(readRecording()))
    for (const { role, what } of effects) {
      if (role === 'api' || what === TOLD) continue;
      const kind = kindOfEffect({ role, what });
      if (!writes.some((write) => kindOfEffect(write) === kind)) writes.push({ role, workload, what });
    }
  return writes;
}

/**
 * Fenced by the uid alone, for the version of a Deployment changes with each of its pods: taken as long as the object is
 * the same one. Who leads sees it and puts it back (O1).
 */
const isMadeUpFor = ({ workload, what }: Write) =>
  workload === 'update' && what.startsWith('apply deployments');

function outcomeOf(write: Write, later: boolean): string {
  if (!isMadeUpFor(write)) return 'refused';
  return later ? 'taken, and put back by the one that leads' : 'taken, and nothing is other than before';
}

interface PausedProcess {
  /** Resolves when it sleeps. */
  readonly paused: Promise<void>;
  /** The write goes on. */
  letGo(): void;
  /** What became of the write; undefined: it has not come to its end. */
  outcome(): HttpOutcome | undefined;
}

/** Stops the process at its write. */
function pauseAtWrite(world: FaultWorld, { role, what }: Write): PausedProcess {
  const { promise: free, resolve } = Promise.withResolvers<void>();
  const { promise: paused, resolve: sleeps } = Promise.withResolvers<void>();
  let seq: number | undefined;
  const run = async (request: HttpRequest) => {
    seq = request.seq;
    world.process(role).signal('SIGSTOP');
    sleeps();
    await free;
  };
  const fault = { kind: 'before', run } as const;
  const times = 1;
  const isHub = what.startsWith('post ');
  if (isHub)
    world.hub.add({
      match: (request: HttpRequest) => request.client === role && hubEffect(request) === what,
      fault,
      times,
    });
  else
    world.kubernetes.add({
      match: (request: KubernetesRequest) => request.client === role && kubernetesEffect(request) === what,
      fault,
      times,
    });
  const outcome = () => {
    const exchanges = isHub ? world.hub.exchanges(role) : world.kubernetes.exchanges(role);
    return exchanges.find((exchange) => exchange.seq === seq);
  };
  return { paused, letGo: () => resolve(), outcome };
}

/** It was asked of the server, and refused. */
function judged(write: Write, outcome: HttpOutcome | undefined): Violation[] {
  const status = outcome?.upstreamStatus ?? 0;
  if (status === 0) return [broken(`what was held did not go out: ${write.what}`)];
  const isTaken = status < 300;
  return isTaken && !isMadeUpFor(write)
    ? [broken(`carried out for one that was replaced: ${write.what}: ${status}`)]
    : [];
}

/** The workload, and one more change when it has come to its end. */
function andLater(workload: Workload): Workload {
  return {
    name: `${workload.name}-and-later`,
    prepare: workload.prepare,
    run: async (world, given) => {
      const now = await workload.run(world, given);
      await workload.end(world, now);
      await changeImage(world, idOf(now), 'later');
      return now;
    },
    end: workload.end,
  };
}

/** @param later another change is made and done by the successor before the sleeper's write goes out */
function replaced(write: Write, later: boolean): FaultPlan {
  const { role, what, workload: name } = write;
  const like = later ? andLater(workloadNamed(name)) : workloadNamed(name);
  const at = what.replace(/[^a-z0-9]+/gi, '-');
  const isPutBack = later && isMadeUpFor(write);
  return {
    name: `two-of-each/${role}/${name}/${at}${later ? '/later-change' : ''}`,
    says:
      `${name}: the ${role} is stopped (SIGSTOP) before its "${what}" until another leads and has done the work${later ? ', and a later change' : ''}; ` +
      `then the write goes out and it is woken: ${outcomeOf(write, later)}.`,
    // The Deployment was rolled out once more, and its controller counts that: only what is wanted can be compared.
    ...(isPutBack ? {} : { like }),
    ...(later ? { countsDiffer: 'What the later change replaced may be made again for a moment.' } : {}),
    deadlineSeconds: 240,
    run: async (world): Promise<Violation[]> => {
      const given = await like.prepare(world);
      const successor = await world.start(role, `${role}-2`);
      await world.quiet({ forMs: SETTLED_MS });
      const pausedProcess = world.process(role);
      const { paused, letGo, outcome } = pauseAtWrite(world, write);
      const ended = like.run(world, given).then((now) => like.end(world, now));
      ended.catch(() => undefined);
      // Some writes come only when what was wanted is there.
      const settled = ended.then(() => world.quiet({ forMs: SETTLED_MS })).then(() => 'settled');
      settled.catch(() => undefined);
      const first = await Promise.race([paused.then(() => 'asleep'), settled]);
      if (first === 'settled') throw new EffectDidNotOccur({ role, what, occurrence: 1 });
      await untilLeads(world, successor);
      await ended;
      // READY is not all: what is left over is removed afterwards.
      await world.quiet({ forMs: SETTLED_MS });
      // The worst order: the write that it has sent goes out while it still sleeps.
      letGo();
      await sleep(SETTLED_MS);
      pausedProcess.signal('SIGCONT');
      await sleep(AWAKE_MS);
      return judged(write, outcome());
    },
  };
}

/** Writes that would undo a later change if they were taken. */
const UNDOING = CHOSEN.filter(({ workload }) => workload === 'update');

export const replacedProcessPlans: readonly FaultPlan[] = [
  ...everyKind().map((write) => replaced(write, false)),
  ...UNDOING.map((write) => replaced(write, true)),
];
