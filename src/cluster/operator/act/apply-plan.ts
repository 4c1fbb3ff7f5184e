import { secretsCheck, secretsCheckDue, secretsCheckId } from '../access/secrets-check.ts';
import type { Action } from '../action.ts';
import type { Decision } from '../decide/decide.ts';
import { type Remembered, versionOf } from '../memory.ts';
import type { ParentRead } from '../observe/parent.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import { reconcileTime } from '../reconcile-time.ts';
import type { ReconcilerOptions } from '../reconciler-options.ts';
import { conditionOf, isPaused } from '../status/conditions.ts';
import { type Acted, act } from './act.ts';
import { isProbeAlone, learnResponses } from './learn-responses.ts';
import type { OrphanGuard } from './orphan-guard.ts';

const NOTHING: Acted = {
  done: [],
  written: [],
  responses: [],
  failures: [],
  outdated: false,
  confirmed: false,
  stale: false,
  error: undefined,
  leaving: false,
};

export interface ApplyPlanInput {
  readonly observed: Observed;
  readonly decision: Decision;
  readonly remembered: Remembered;
  readonly orphanGuard: OrphanGuard;
  readonly announce: (() => Promise<boolean>) | undefined;
  readonly parentRead: ParentRead | undefined;
}

/**
 * Executes the plan, unless the resource is paused, and logs the actions.
 * @param announce names the rollout in the status before a workload changes; undefined: no rollout begins
 */
export async function applyPlan(
  { observed, decision, remembered, orphanGuard, announce, parentRead }: ApplyPlanInput,
  options: ReconcilerOptions,
  signal: AbortSignal,
): Promise<Acted> {
  const { resource } = observed;
  if (isPaused(resource)) return NOTHING;
  const time = reconcileTime(options.clock);
  const checkAt = secretsCheckDue(observed, remembered, time);
  const isDue = checkAt !== undefined && checkAt <= time.date;
  if (isDue) remembered.secretsCheckedAt = time.ticks;
  const decided = [...decision.plan.actions, ...decision.housekeeping];
  const isAsked = isDue || remembered.refusals.has(secretsCheckId(resource));
  if (isAsked) remembered.credentials.forget();
  const actions =
    isAsked && !decided.some(({ kind }) => kind === 'secrets')
      ? [secretsCheck(observed, decision.target, 'a Secret may be missing'), ...decided]
      : decided;
  if (actions.length === 0) return NOTHING;
  const { client, view, mayAct } = options;
  const { refusals, confirmed, credentials } = remembered;
  const input = {
    client,
    view,
    resource,
    refusals,
    credentials,
    orphanGuard,
    ticks: time.ticks,
    signal,
    mayAct,
    confirmed,
    announce,
    parentRead,
  };
  const acted = await act(actions, input);
  learnResponses(remembered.responses, acted.responses, decision.comparisons, time.ticks);
  remembered.confirmed ||= acted.confirmed;
  remembered.written = acted.written.map(versionOf);
  remembered.errors = acted.error === undefined ? 0 : remembered.errors + 1;
  for (const [action, written] of acted.responses)
    if (!isProbeAlone(action, written)) recordAction(action, resource, options);
  return acted;
}

function recordAction(
  action: Action,
  resource: ObservedResource,
  { logger, events, onAction }: ReconcilerOptions,
): void {
  onAction?.(action);
  const { namespace, name, generation } = resource.metadata;
  logger.info({ resource: `${namespace}/${name}`, action: action.id, reason: action.reason }, 'done');
  const settled = conditionOf(resource, 'Ready');
  const isDrift = settled?.status === 'True' && settled.observedGeneration === generation;
  if (!isDrift || (action.kind !== 'create' && action.kind !== 'apply')) return;
  const { kind, metadata } = action.object;
  const object = `${kind} ${metadata.name}`;
  if (action.kind === 'create')
    events.record(resource, 'Normal', 'ObjectRecreated', `${object} was missing and was created again`);
  else events.record(resource, 'Normal', 'ObjectCorrected', `${object} was corrected: ${action.reason}`);
}
