import type { ManagedDeploymentStatus } from '../../contract/resource/managed-deployment.ts';
import { isSecretSentinel } from '../../workloads/objects/secret-sentinel.ts';
import { KubeError } from '../kube/client/errors.ts';
import type { KubeObject } from '../kube/client/object.ts';
import type { Outcome } from '../kube/queue/controller.ts';
import { secretsCheckDue, secretsCheckId } from './access/secrets-check.ts';
import type { Acted } from './act/act.ts';
import type { Decision } from './decide/decide.ts';
import type { Remembered } from './memory.ts';
import { suspectsOf, tellingsDue } from './observe/warning-events.ts';
import type { Observed } from './observed.ts';
import type { LookTime } from './reconcile-time.ts';
import { isPaused } from './status/conditions.ts';
import { nextOverdue } from './status/deletion-holds.ts';

/** A namespace that is being deleted takes its time. */
const LEAVING_MS = 30_000;
/** The cached resource is older than the server's: its event is on the way. */
const STALE_PARENT_MS = 500;
/** Between two looks that nothing but the clock asks for. */
export const SHORTEST_PAUSE_MS = 100;

export interface Reported {
  /** The write was put off until then (ms since the epoch). */
  readonly dueAt?: number;
  /** The resource has changed meanwhile. */
  readonly stale?: boolean;
  /** The resource as the cluster answered. */
  readonly written?: KubeObject;
}

interface Looked {
  readonly observed: Observed;
  /** What is left of it. */
  readonly decision: Decision;
  readonly acted: Acted;
  readonly reported: Reported;
  /** What was to be reported. */
  readonly status: ManagedDeploymentStatus;
  readonly remembered: Remembered;
  readonly time: LookTime;
}

const MOVED_ON = 'the cluster has moved on since it was looked at';

/** Look again, soon. */
export function staleOutcome(error = new KubeError({ kind: 'conflict', message: MOVED_ON })): Outcome {
  return { kind: 'retry', error };
}

/** When to look again because not everything could be done; undefined: all was done that was decided. */
function afterUnfinished({ leaving, error, stale }: Acted): Outcome | undefined {
  if (leaving) return { kind: 'requeue', afterMs: LEAVING_MS };
  if (error !== undefined) return { kind: 'retry', error };
  return stale ? staleOutcome() : undefined;
}

/** When to look again, if nothing happens before. */
export function nextLook({ observed, decision, acted, reported, status, remembered, time }: Looked): Outcome {
  const now = time.date;
  const { plan, housekeeping, target, verdict, turnsAt } = decision;
  const unfinished = afterUnfinished(acted);
  if (unfinished !== undefined) return unfinished;
  const toAct = isPaused(observed.resource)
    ? []
    : [
        remembered.refusals.nextTry(
          [...plan.actions, ...housekeeping, { id: secretsCheckId(observed.resource) }],
          time,
        ),
        remembered.answers.nextTry(time),
        target.heldUntil ?? undefined,
        turnsAt ?? undefined,
        // The echo of the status that records it wakes nobody, and something has to be done about it.
        verdict.kind === 'failed' && verdict.seen ? now : undefined,
        // It has arrived, and what is wanted has still failed.
        verdict.kind === 'complete' && target.instead !== null ? now : undefined,
        secretsCheckDue(observed, remembered, time),
        // What only the former revision used may go, and the echo of the status that says so wakes nobody.
        hasMovedOn(observed.resource.status, status) ? now : undefined,
        // The echo of a witness wakes nobody, and the one whose place it takes has to go.
        observed.witnesses.length > 0 && acted.written.some(isSecretSentinel) ? now : undefined,
      ];
  const toReport = [
    tellingsDue(suspectsOf(observed), remembered.tellings, time),
    decision.symptoms.dueAt,
    reported.dueAt,
    reported.stale ? now + STALE_PARENT_MS : undefined,
    nextOverdue(observed, now),
  ];
  const times = [...toAct, ...toReport].filter((time) => time !== undefined && time !== null);
  if (times.length === 0) return { kind: 'settled' };
  return { kind: 'requeue', afterMs: Math.max(SHORTEST_PAUSE_MS, Math.min(...times) - now) };
}

function hasMovedOn(
  before: ManagedDeploymentStatus | undefined,
  { activeRevision }: ManagedDeploymentStatus,
): boolean {
  const former = before?.activeRevision ?? null;
  return former !== null && former.templates !== activeRevision?.templates;
}
