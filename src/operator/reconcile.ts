import { MANAGED_DEPLOYMENT, type ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import type { Logger } from '../domain/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../kube/clock.ts';
import type { Outcome } from '../kube/controller.ts';
import { isKubeError, type KubeError } from '../kube/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { KubeObject } from '../kube/object.ts';
import { type Acted, act } from './act.ts';
import type { Action } from './action.ts';
import { withLiveComponents, withTellings } from './closer-look.ts';
import type { ClusterView } from './cluster-view.ts';
import { conditionOf, isPaused } from './conditions.ts';
import { type Decision, decide } from './decide.ts';
import type { WriteClient } from './execute.ts';
import type { Failure } from './failure.ts';
import { DEFAULT_PATIENCE, type Patience } from './failure-rules.ts';
import { gather } from './gather.ts';
import { Memory, type Remembered } from './memory.ts';
import { nextLook, type Reported, staleOutcome } from './next-look.ts';
import type { Observed, ObservedResource } from './observed.ts';
import { rightfulOther } from './ownership.ts';
import { failedBy } from './refused-rollout.ts';
import { secretsCheck, secretsCheckDue, secretsCheckId } from './secrets-check.ts';
import { deriveStatus, refusedStatus, statusChange } from './status.ts';
import { transitions } from './transitions.ts';

export interface ReconcilerOptions {
  readonly view: ClusterView;
  readonly client: WriteClient & Pick<KubeClient, 'replaceStatus' | 'list'>;
  readonly config: RenderConfig;
  /** How long trouble may last before a rollout has failed; default: see failure-rules. */
  readonly patience?: Partial<Omit<Patience, 'deadlineMs'>>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Pick<Clock, 'date'>;
  readonly logger: Logger;
  /** Asked before each write: a process that was frozen may have lost the lead without having noticed. */
  readonly mayAct: () => boolean;
  /** Told of each call that changed something in the cluster. */
  readonly onAction?: (action: Action) => void;
}

/** The caches have not caught up with our last writes: their events wake us; this is for one that never comes. */
const CATCH_UP_MS = 2_000;
/** Numbers and wording in the status are written at most this often. */
const STATUS_PAUSE_MS = 1_000;
/** A namespace that is being deleted takes its time. */
const LEAVING_MS = 30_000;
/** Until it is looked whether the one that a copy was made of is still there: longer than its listener needs to bring it back. */
const COPY_PAUSE_MS = 30_000;
/** A call that failed once is not worth a word in the status. */
const ERRORS_BEFORE_TELLING = 3;

/**
 * Brings one custom resource and the cluster together: gather, decide, act, report.
 * Any look may be the first after a restart; nothing is known but what the cluster holds.
 */
export function createReconciler(
  options: ReconcilerOptions,
): (key: string, signal: AbortSignal) => Promise<Outcome> {
  const { view, client, config, clock } = options;
  const patience: Patience = {
    ...DEFAULT_PATIENCE,
    ...options.patience,
    deadlineMs: config.progressDeadlineSeconds * 1000,
  };
  const memory = new Memory();

  /** A failure is decided on what the server says itself. */
  const decideSurely = async (cached: Observed, now: Date, signal: AbortSignal) => {
    const decision = decide(cached, config, patience, now);
    if (decision.verdict.kind !== 'failed' || !decision.verdict.seen) return { observed: cached, decision };
    const observed = await withLiveComponents(cached, decision, view, signal);
    return { observed, decision: decide(observed, config, patience, now) };
  };

  return async (key, signal) => {
    const gathered = gather(view, key);
    if (gathered.kind === 'absent') {
      memory.forget(key);
      return { kind: 'settled' };
    }
    const remembered = memory.of(key);
    remembered.written = remembered.written.filter((object) => !view.isCurrent(object));
    if (remembered.written.length > 0) return { kind: 'requeue', afterMs: CATCH_UP_MS };
    if (gathered.kind === 'unreadable') {
      return await refuseSpec(gathered.resource, gathered.problems, options, remembered, signal);
    }
    const { resource } = gathered.observed;
    if (resource.metadata.deletionTimestamp !== undefined) return { kind: 'settled' };
    const other = otherOwner(resource, view);
    if (other !== null) return await refuseCopy(resource, other, options, remembered, signal);
    const now = clock.date();
    const told = await withTellings(gathered.observed, { client, remembered, now: now.getTime(), signal });
    const sure = await decideSurely(told, now, signal);
    const { decision } = sure;
    let { observed } = sure;
    const announce = async (): Promise<boolean> => {
      const status = deriveStatus({ observed, decision, failures: [], config, now });
      const { written } = await report(observed.resource, status, options, remembered, signal);
      if (written === undefined) return false;
      observed = { ...observed, resource: withStatus(observed.resource, status, written) };
      return true;
    };
    const acted = await carryOut(
      observed,
      decision,
      options,
      remembered,
      signal,
      begins(observed, decision) ? announce : undefined,
    );
    if (acted.leaving) return { kind: 'requeue', afterMs: LEAVING_MS };
    if (acted.outdated) return staleOutcome();
    const failures = [...acted.failures, ...tellable(acted.error, remembered)];
    const left = failedBy(acted.failures, without(decision, acted.done), observed);
    const status = deriveStatus({ observed, decision: left, failures, config, now });
    const reported = await report(observed.resource, status, options, remembered, signal);
    return nextLook({ observed, decision: left, acted, reported, remembered, now: now.getTime() });
  };
}

/**
 * A rollout is about to begin that the status does not name yet. It is named before a workload is touched: so what has
 * rolled is known, whatever is killed between two calls and whatever else is wanted by then.
 */
function begins({ resource }: Observed, { target, startedAt }: Decision): boolean {
  return startedAt !== null && resource.status?.rollout?.templates !== target.name;
}

/** The resource as it is after a write of its status. */
function withStatus(
  resource: ObservedResource,
  status: ManagedDeploymentStatus,
  { metadata: { resourceVersion } }: KubeObject,
): ObservedResource {
  const metadata = { ...resource.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return { ...resource, metadata, status };
}

/** What is left to do: what the cluster has confirmed is done. */
function without(decision: Decision, done: readonly Action[]): Decision {
  const { actions, waiting } = decision.plan;
  return { ...decision, plan: { actions: actions.filter((action) => !done.includes(action)), waiting } };
}

const NOTHING: Acted = {
  done: [],
  written: [],
  failures: [],
  outdated: false,
  stale: false,
  error: undefined,
  leaving: false,
};

async function carryOut(
  observed: Observed,
  decision: Decision,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
  announce: (() => Promise<boolean>) | undefined,
): Promise<Acted> {
  const { resource } = observed;
  if (isPaused(resource)) return NOTHING;
  const now = options.clock.date().getTime();
  const checkAt = secretsCheckDue(observed, remembered.secretsCheckedAt, now);
  const isDue = checkAt !== undefined && checkAt <= now;
  if (isDue) remembered.secretsCheckedAt = now;
  const decided = [...decision.plan.actions, ...decision.housekeeping];
  const isAsked = isDue || remembered.refusals.has(secretsCheckId(resource));
  const actions =
    isAsked && !decided.some(({ kind }) => kind === 'secrets')
      ? [secretsCheck(observed, decision.target, 'something lacks a Secret'), ...decided]
      : decided;
  if (actions.length === 0) return NOTHING;
  const { client, view } = options;
  const { refusals } = remembered;
  const { mayAct } = options;
  const acted = await act(actions, { client, view, resource, refusals, now, signal, mayAct, announce });
  remembered.written = acted.written;
  remembered.errors = acted.error === undefined ? 0 : remembered.errors + 1;
  for (const action of acted.done) tell(action, resource, options);
  return acted;
}

function tell(
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
    events.record(resource, 'Normal', 'ObjectRecreated', `${object} was missing and was made again`);
  else events.record(resource, 'Normal', 'ObjectCorrected', `${object} was put back: ${action.reason}`);
}

/** An error that lasts, as something to be told. */
function tellable(error: KubeError | undefined, { errors }: Remembered): Failure[] {
  if (error === undefined || errors < ERRORS_BEFORE_TELLING) return [];
  return [
    { actionId: '', reason: 'ReconcileFailed', final: false, message: `${error.message}; it is tried again` },
  ];
}

/** Writes the status if it has changed; numbers alone only once a second. */
async function report(
  resource: ObservedResource,
  status: ManagedDeploymentStatus,
  { client, view, events, clock }: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<Reported> {
  const change = statusChange(resource.status, status);
  if (change === 'none') return {};
  const now = clock.date().getTime();
  const dueAt = remembered.statusWrittenAt + STATUS_PAUSE_MS;
  if (change === 'counts' && dueAt > now) return { dueAt };
  const { apiVersion, kind } = MANAGED_DEPLOYMENT;
  const { name, namespace, uid, resourceVersion } = resource.metadata;
  let written: KubeObject;
  try {
    written = await client.replaceStatus(
      { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status },
      { signal },
    );
    view.noteWrite(written);
    remembered.written = [...remembered.written, written];
  } catch (error) {
    if (isKubeError(error, 'conflict', 'not_found')) return { stale: true };
    throw error;
  }
  remembered.statusWrittenAt = now;
  for (const { type, reason, message } of transitions(resource.status, status)) {
    events.record(resource, type, reason, message);
  }
  return { written };
}

function otherOwner(resource: ObservedResource, view: ClusterView): string | null {
  const { deploymentId } = resource.spec;
  if (deploymentId === undefined) return null;
  const { namespace } = resource.metadata;
  return rightfulOther(resource, deploymentId, view.resourcesOf(namespace, deploymentId));
}

/** Nothing is made for a copy, and nothing of the other is touched; should the other go, the copy takes its place. */
async function refuseCopy(
  resource: ObservedResource,
  other: string,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<Outcome> {
  const message = `the ManagedDeployment ${other} has the same spec.deploymentId: leave it out, or delete this one`;
  const status = refusedStatus(resource, 'Conflict', message, options.clock.date());
  const { stale } = await report(resource, status, options, remembered, signal);
  return stale ? staleOutcome() : { kind: 'requeue', afterMs: COPY_PAUSE_MS };
}

/** The CRD lets through what this version cannot read: said in the status, tried again when somebody changes it. */
async function refuseSpec(
  resource: ObservedResource,
  problems: string,
  options: ReconcilerOptions,
  remembered: Remembered,
  signal: AbortSignal,
): Promise<Outcome> {
  const message = `the spec is not valid: ${problems}`;
  const status = refusedStatus(resource, 'Refused', message, options.clock.date());
  const { stale } = await report(resource, status, options, remembered, signal);
  if (stale) return staleOutcome();
  return { kind: 'terminal', error: new Error(`failed to read the spec: ${problems}`) };
}
