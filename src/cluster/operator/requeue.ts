import type { ManagedDeploymentStatus } from '../../contract/resource/managed-deployment.ts';
import { isSecretSentinel } from '../../workloads/objects/secret-sentinel.ts';
import { KubeError } from '../kube/client/errors.ts';
import type { KubeObject } from '../kube/client/object.ts';
import type { ReconcileOutcome } from '../kube/queue/controller.ts';
import { secretsCheckDue, secretsCheckId } from './access/secrets-check.ts';
import type { Acted } from './act/act.ts';
import type { Decision } from './decide/decide.ts';
import type { Remembered } from './memory.ts';
import { suspectsOf, warningEventsDue } from './observe/warning-events.ts';
import type { Observed } from './observed.ts';
import type { ReconcileTime } from './reconcile-time.ts';
import { failedBefore } from './rollout/target.ts';
import { isPaused } from './status/conditions.ts';
import { nextOverdue } from './status/deletion-holds.ts';

/** Requeue interval while the namespace is being deleted. */
const NAMESPACE_TERMINATING_MS = 30_000;
/**
 * Requeue delay when the cached resource is older than that of the API server. The watch event of the newer resource
 * will arrive soon.
 */
const STALE_PARENT_MS = 500;
/** Minimum time between two reconciles that only the clock causes. */
export const MIN_REQUEUE_MS = 100;

export interface Reported {
  /** Time until which the write of the status is deferred (ms since the epoch). */
  readonly dueAt?: number;
  /** Whether the custom resource has changed since it was read. */
  readonly stale?: boolean;
  /** The custom resource in the response of the API server. */
  readonly written?: KubeObject;
}

interface Reconciled {
  readonly observed: Observed;
  /** The decision without the actions that are already done. */
  readonly decision: Decision;
  readonly acted: Acted;
  readonly reported: Reported;
  /** The status that was reported, or will be reported. */
  readonly status: ManagedDeploymentStatus;
  readonly remembered: Remembered;
  readonly time: ReconcileTime;
}

const STATE_CHANGED = 'the cluster state changed during the reconcile';

/** Retries soon, because the observed state is outdated. */
export function staleOutcome(
  error = new KubeError({ kind: 'conflict', message: STATE_CHANGED }),
): ReconcileOutcome {
  return { kind: 'retry', error };
}

/** The outcome when some actions could not be done; undefined: all actions were done. */
function afterUnfinished({ leaving, error, stale }: Acted): ReconcileOutcome | undefined {
  if (leaving) return { kind: 'requeue', afterMs: NAMESPACE_TERMINATING_MS };
  if (error !== undefined) return { kind: 'retry', error };
  return stale ? staleOutcome() : undefined;
}

/** Time of the next reconcile if no event arrives earlier. */
export function nextReconcile(reconciled: Reconciled): ReconcileOutcome {
  const { references, domainsPauseMs = null } = reconciled.remembered;
  // No watch event reports that objects of forbidden references were created or deleted, and none reports changes in DNS.
  const outcome = requeueWithin(nextChange(reconciled), references?.pauseMs ?? null);
  return requeueWithin(outcome, domainsPauseMs);
}

/** Requeues after `pauseMs` at the latest. null: there is no such time. */
function requeueWithin(outcome: ReconcileOutcome, pauseMs: number | null): ReconcileOutcome {
  if (pauseMs === null || outcome.kind === 'retry' || outcome.kind === 'terminal') return outcome;
  const wanted = Math.max(MIN_REQUEUE_MS, pauseMs);
  const afterMs = outcome.kind === 'requeue' ? Math.min(outcome.afterMs, wanted) : wanted;
  return { kind: 'requeue', afterMs };
}

function nextChange({
  observed,
  decision,
  acted,
  reported,
  status,
  remembered,
  time,
}: Reconciled): ReconcileOutcome {
  const now = time.date;
  const { plan, housekeeping, target, verdict, recheckAt } = decision;
  const unfinished = afterUnfinished(acted);
  if (unfinished !== undefined) return unfinished;
  const toAct = isPaused(observed.resource)
    ? []
    : [
        remembered.refusals.nextTry(
          [...plan.actions, ...housekeeping, { id: secretsCheckId(observed.resource) }],
          time,
        ),
        remembered.responses.nextTry(time),
        target.heldUntil ?? undefined,
        recheckAt ?? undefined,
        // A failure was just recorded and must be acted on. The watch event of the operator's own status write does not
        // requeue.
        verdict.kind === 'failed' && verdict.seen ? now : undefined,
        // A later change of the active revision is complete, and the desired revision has still failed.
        verdict.kind === 'complete' && failedBefore(target) !== null ? now : undefined,
        secretsCheckDue(observed, remembered, time),
        // Objects that only the former revision used can now be removed. The event of the operator's own status write
        // does not requeue.
        activeTemplatesChanged(observed.resource.status, status) ? now : undefined,
        // The event of a sentinel that the operator created does not requeue, and the replaced sentinel must be
        // removed.
        observed.sentinels.length > 0 && acted.written.some(isSecretSentinel) ? now : undefined,
      ];
  const toReport = [
    warningEventsDue(suspectsOf(observed), remembered.warnings, time),
    decision.symptoms.dueAt,
    reported.dueAt,
    reported.stale ? now + STALE_PARENT_MS : undefined,
    nextOverdue(observed, now),
  ];
  const times = [...toAct, ...toReport].filter((time) => time !== undefined && time !== null);
  if (times.length === 0) return { kind: 'settled' };
  return { kind: 'requeue', afterMs: Math.max(MIN_REQUEUE_MS, Math.min(...times) - now) };
}

function activeTemplatesChanged(
  before: ManagedDeploymentStatus | undefined,
  { activeRevision }: ManagedDeploymentStatus,
): boolean {
  const former = before?.activeRevision ?? null;
  return former !== null && former.templates !== activeRevision?.templates;
}
