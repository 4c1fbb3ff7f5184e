/** A process is paused past its lease at one of its writes, and resumed when another process has taken over. */
import { kindOfEffect } from '../effects.ts';
import type { FaultPlan, Violation, Workload } from '../plan.ts';
import type { HttpOutcome } from '../proxies/http-traffic.ts';
import { readRecording, SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import { EffectDidNotOccur } from './kill.ts';
import { broken, changeImage, idOf } from './steps.ts';
import { pauseAt, untilLeads } from './takeover.ts';

interface Write {
  readonly role: 'operator' | 'listener';
  readonly workload: string;
  /** As recorded: `apply deployments shop-x-api`, `post reports`. */
  readonly what: string;
}

/** Writes whose object or workload matters. */
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

/** No decision depends on it. */
const EVENTS = 'tell events';

/** Every kind of write of the roles: the chosen ones, and the first recorded one of each other kind. */
function everyKind(): Write[] {
  const writes = [...CHOSEN];
  for (const [workload, effects] of Object.entries(readRecording()))
    for (const { role, what } of effects) {
      if (role === 'api' || what === EVENTS) continue;
      const kind = kindOfEffect({ role, what });
      if (!writes.some((write) => kindOfEffect(write) === kind)) writes.push({ role, workload, what });
    }
  return writes;
}

/**
 * Fenced by the uid alone, because the version of a Deployment changes with each of its pods. The write is accepted while
 * the object is the same. The leader corrects it (O1).
 */
const isCorrected = ({ workload, what }: Write) =>
  workload === 'update' && what.startsWith('apply deployments');

function outcomeOf(write: Write, later: boolean): string {
  if (!isCorrected(write)) return 'rejected';
  return later ? 'accepted, and corrected by the leader' : 'accepted, without an effect';
}

/** The server got the request, and rejected it. */
function judged(write: Write, outcome: HttpOutcome | undefined): Violation[] {
  const status = outcome?.upstreamStatus ?? 0;
  if (status === 0) return [broken(`what was held did not go out: ${write.what}`)];
  const isTaken = status < 300;
  return isTaken && !isCorrected(write)
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

/** @param later another change is made and done by the successor before the held write is sent */
function replaced(write: Write, later: boolean): FaultPlan {
  const { role, what, workload: name } = write;
  const like = later ? andLater(workloadNamed(name)) : workloadNamed(name);
  const at = what.replace(/[^a-z0-9]+/gi, '-');
  const isCorrectedLater = later && isCorrected(write);
  return {
    name: `two-of-each/${role}/${name}/${at}${later ? '/later-change' : ''}`,
    says:
      `${name}: the ${role} is stopped (SIGSTOP) before its "${what}". Another one leads and does the work${later ? ', and a later change' : ''}. ` +
      `Then the write is sent, and the process continues: ${outcomeOf(write, later)}.`,
    // The Deployment was rolled out once more, and its controller counts that: only what is wanted can be compared.
    ...(isCorrectedLater ? {} : { like }),
    ...(later ? { countsDiffer: 'What the later change replaced may be made again for a moment.' } : {}),
    deadlineSeconds: 240,
    run: async (world): Promise<Violation[]> => {
      const given = await like.prepare(world);
      const successor = await world.start(role, `${role}-2`);
      await world.quiet({ forMs: SETTLED_MS });
      const { paused, resume, outcome } = pauseAt(world, role, what);
      const ended = like.run(world, given).then((now) => like.end(world, now));
      ended.catch(() => undefined);
      // Some writes come only when what was wanted is there.
      const settled = ended.then(() => world.quiet({ forMs: SETTLED_MS })).then(() => 'settled');
      settled.catch(() => undefined);
      const first = await Promise.race([paused.then(() => 'paused'), settled]);
      if (first === 'settled') throw new EffectDidNotOccur({ role, what, occurrence: 1 });
      await untilLeads(world, successor);
      await ended;
      // READY is not all: what is left over is removed afterwards.
      await world.quiet({ forMs: SETTLED_MS });
      await resume();
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
