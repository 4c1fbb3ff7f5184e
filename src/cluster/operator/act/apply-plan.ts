import { secretsCheck, secretsCheckDue, secretsCheckId } from '../access/secrets-check.ts';
import type { Action } from '../action.ts';
import type { Decision } from '../decide/decide.ts';
import type { Decided } from '../decide/decide-on-live-state.ts';
import { type Remembered, versionOf } from '../memory.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import type { ReconcileContext } from '../reconcile-context.ts';
import { type ReconcileTime, reconcileTime } from '../reconcile-time.ts';
import type { ReconcilerOptions } from '../reconciler-options.ts';
import { conditionOf, isPaused } from '../status/conditions.ts';
import { announceRollout, isUnannounced } from '../status/report.ts';
import { type Acted, act } from './act.ts';
import { forgetResponses, isProbeAlone, learnResponses } from './learn-responses.ts';

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

/** The changes of a reconcile, and the state that was observed after it. */
export interface Applied {
  readonly acted: Acted;
  readonly observed: Observed;
}

/**
 * Executes the plan, unless the resource is paused, and logs what was done. The status names a new rollout before a
 * workload changes.
 */
export async function applyPlan(
  decided: Decided,
  { ticks }: ReconcileTime,
  context: ReconcileContext,
): Promise<Applied> {
  const { remembered } = context;
  let { observed } = decided;
  const announce = async () => {
    const announced = await announceRollout({ ...decided, observed }, context);
    if (announced === null) return false;
    observed = announced;
    return true;
  };
  const acted = await execute(decided, isUnannounced(decided) ? announce : undefined, context);
  if (acted.outdated) return { acted, observed };
  forgetResponses(remembered.responses, decided.decision.comparisons, acted.responses);
  return { acted, observed: { ...observed, responses: remembered.responses.known(ticks) } };
}

/** @param announce names the rollout in the status; undefined: no rollout begins */
async function execute(
  { observed, decision, parentRead }: Decided,
  announce: (() => Promise<boolean>) | undefined,
  { options, remembered, orphanGuard, signal }: ReconcileContext,
): Promise<Acted> {
  const { resource } = observed;
  if (isPaused(resource)) return NOTHING;
  const time = reconcileTime(options.clock);
  const actions = actionsOf(observed, decision, remembered, time);
  if (actions.length === 0) return NOTHING;
  const { client, view, mayAct } = options;
  const { refusals, confirmed, credentials } = remembered;
  const input = { client, view, resource, refusals, credentials, orphanGuard, signal, mayAct, confirmed };
  const acted = await act(actions, { ...input, ticks: time.ticks, announce, parentRead });
  learnResponses(remembered.responses, acted.responses, decision.comparisons, time.ticks);
  remembered.confirmed ||= acted.confirmed;
  remembered.written = acted.written.map(versionOf);
  remembered.errors = acted.error === undefined ? 0 : remembered.errors + 1;
  for (const [action, written] of acted.responses)
    if (!isProbeAlone(action, written)) recordAction(action, resource, options);
  return acted;
}

/** The planned actions, and a check of the Secrets when it is due. */
function actionsOf(
  observed: Observed,
  { plan, housekeeping, target }: Decision,
  remembered: Remembered,
  time: ReconcileTime,
): Action[] {
  const checkAt = secretsCheckDue(observed, remembered, time);
  const isDue = checkAt !== undefined && checkAt <= time.date;
  if (isDue) remembered.secretsCheckedAt = time.ticks;
  const planned = [...plan.actions, ...housekeeping];
  const isAsked = isDue || remembered.refusals.has(secretsCheckId(observed.resource));
  if (isAsked) remembered.credentials.forget();
  return isAsked && !planned.some(({ kind }) => kind === 'secrets')
    ? [secretsCheck(observed, target, 'a Secret may be missing'), ...planned]
    : planned;
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
