/** A process is paused past its lease at one of its writes, and resumed when another process has taken over. */
import { kindOfEffect } from '../effects.ts';
import type { FaultPlan, Violation, Workload } from '../plan.ts';
import type { HttpOutcome } from '../proxies/http-traffic.ts';
import { readRecording, SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import { EffectDidNotOccur } from './kill.ts';
import { broken, changeImage, idOf } from './steps.ts';
import { pauseAt, untilLeads } from './takeover.ts';

/** A write that is held. */
interface Write {
  readonly role: 'operator' | 'listener';
  readonly workload: string;
  /** The recorded effect, such as `apply deployments shop-x-api` or `post reports`. */
  readonly what: string;
}

/** Writes for which a specific object or workload matters. */
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

/** Events are excluded, because no decision depends on them. */
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
 * Whether the write is accepted while the object is the same, because it is fenced only by the uid. An apply of a Deployment: the
 * version changes with each of its pods, and the leader reverts the write (O1). The start of a Job: the leader has started it,
 * because it deletes a Job that must not start.
 */
const isCorrected = ({ workload, what }: Write) =>
  (workload === 'update' && what.startsWith('apply deployments')) || what.startsWith('patch jobs');

function outcomeOf(write: Write, later: boolean): string {
  if (!isCorrected(write)) return 'rejected';
  return later ? 'accepted, and corrected by the leader' : 'accepted, without an effect';
}

/** Checks that the server received the request and rejected it. */
function judged(write: Write, outcome: HttpOutcome | undefined): Violation[] {
  const status = outcome?.upstreamStatus ?? 0;
  if (status === 0) return [broken(`the held write was not sent: ${write.what}`)];
  const isAccepted = status < 300;
  return isAccepted && !isCorrected(write)
    ? [broken(`carried out for a replaced process: ${write.what}: ${status}`)]
    : [];
}

/** The workload, and one more change after it. */
function withLaterChange(workload: Workload): Workload {
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

/** @param later whether the successor makes another change before the held write is sent */
function replaced(write: Write, later: boolean): FaultPlan {
  const { role, what, workload: name } = write;
  const like = later ? withLaterChange(workloadNamed(name)) : workloadNamed(name);
  const at = what.replace(/[^a-z0-9]+/gi, '-');
  const isCorrectedLater = later && isCorrected(write);
  return {
    name: `two-of-each/${role}/${name}/${at}${later ? '/later-change' : ''}`,
    says:
      `${name}: the ${role} is stopped (SIGSTOP) before its "${what}". Another one leads and does the work${later ? ', and a later change' : ''}. ` +
      `Then the write is sent, and the process continues: ${outcomeOf(write, later)}.`,
    // The Deployment is rolled out once more, and its controller counts this. So only the desired state is compared.
    ...(isCorrectedLater ? {} : { like }),
    ...(later
      ? { countsDiffer: 'Objects that the later change has replaced may be created again temporarily.' }
      : {}),
    deadlineSeconds: 240,
    run: async (world): Promise<Violation[]> => {
      const given = await like.prepare(world);
      const successor = await world.start(role, `${role}-2`);
      await world.quiet({ forMs: SETTLED_MS });
      const { paused, resume, outcome } = pauseAt(world, role, what);
      const ended = like.run(world, given).then((now) => like.end(world, now));
      ended.catch(() => undefined);
      // Some writes occur only after the desired state is reached.
      const settled = ended.then(() => world.quiet({ forMs: SETTLED_MS })).then(() => 'settled');
      settled.catch(() => undefined);
      const first = await Promise.race([paused.then(() => 'paused'), settled]);
      if (first === 'settled') throw new EffectDidNotOccur({ role, what, occurrence: 1 });
      await untilLeads(world, successor);
      await ended;
      // After READY, objects that are no longer needed are still removed.
      await world.quiet({ forMs: SETTLED_MS });
      await resume();
      return judged(write, outcome());
    },
  };
}

/** Writes that would revert a later change. */
const REVERTING = CHOSEN.filter(({ workload }) => workload === 'update');

export const replacedProcessPlans: readonly FaultPlan[] = [
  ...everyKind().map((write) => replaced(write, false)),
  ...REVERTING.map((write) => replaced(write, true)),
];
