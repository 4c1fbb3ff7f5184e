import type { ManagedDeploymentStatus } from '../../contract/resource/managed-deployment.ts';
import { withFields } from '../../domain/core/logger.ts';
import { isKubeError, type KubeError } from '../kube/client/errors.ts';
import type { KubeObject } from '../kube/client/object.ts';
import type { ReconcileOutcome } from '../kube/queue/controller.ts';
import { foreignReferences } from './access/foreign-references.ts';
import { hostRefusal } from './access/host-claims.ts';
import { checkIdentity } from './access/identity-check.ts';
import { serviceFailures } from './access/service-spec-policy.ts';
import { checked } from './access/spec-policy.ts';
import type { Acted } from './act/act.ts';
import { applyPlan } from './act/apply-plan.ts';
import { changeFailures, forgetResponses } from './act/learn-responses.ts';
import { OrphanGuard } from './act/orphan-guard.ts';
import type { Action } from './action.ts';
import { unbuiltStatus } from './builds/unbuilt.ts';
import { type Decision, decide } from './decide/decide.ts';
import { imageQuery } from './images/image-lookup.ts';
import { Memory, type Remembered } from './memory.ts';
import type { Failure } from './observe/failure.ts';
import { type Gathered, gather } from './observe/gather.ts';
import { withLiveComponents, withWarningEvents } from './observe/live-reads.ts';
import { readParentAhead } from './observe/parent.ts';
import type { Observed, ObservedResource } from './observed.ts';
import { reconcileTime } from './reconcile-time.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { nextReconcile, type Reported, staleOutcome } from './requeue.ts';
import { DEFAULT_PATIENCE, type Patience } from './rollout/failure-rules.ts';
import { failedByRefusal } from './rollout/refused-rollout.ts';
import { reportStatus } from './status/report-status.ts';
import { deriveStatus } from './status/status.ts';
import { rejectIdentity, rejectSpec, reportDeletion } from './status/terminal-status.ts';

/**
 * Requeue delay while the caches do not show the last writes of this process. Usually the watch event arrives earlier.
 * The delay covers a lost event.
 */
const CATCH_UP_MS = 2_000;
/** Number of consecutive failed calls before the status reports an error. */
const ERRORS_BEFORE_REPORTING = 3;

/**
 * Creates the function that reconciles one custom resource: gather, decide, act, report. Any reconcile may be the first
 * after a restart, so it relies only on state in the cluster.
 */
export function createReconciler(
  shared: ReconcilerOptions,
): (key: string, signal: AbortSignal, reconcileId?: string) => Promise<ReconcileOutcome> {
  const { view, client, config, clock } = shared;
  const patience: Patience = {
    ...DEFAULT_PATIENCE,
    ...shared.patience,
    deadlineMs: config.progressDeadlineSeconds * 1000,
  };
  const memory = new Memory();

  /**
   * Before a rollout is declared failed, its components are read from the API server and the decision is made again.
   * The early read of the custom resource is then dropped, because it is older than the components.
   */
  const decideOnLiveState = async (cached: Observed, now: Date, signal: AbortSignal) => {
    const parentRead = await readParentAhead({ client, resource: cached.resource, signal });
    const decision = decide(cached, config, patience, now);
    if (decision.verdict.kind !== 'failed' || !decision.verdict.seen) {
      return { observed: cached, decision, parentRead };
    }
    const observed = await withLiveComponents(cached, decision, view, signal);
    return { observed, decision: decide(observed, config, patience, now), parentRead: undefined };
  };

  /** Whether the caches do not show the last writes of this process yet. A reconcile would then act on old state. */
  const cachesLag = (remembered: Remembered): boolean => {
    remembered.written = remembered.written.filter((object) => !view.isCurrent(object));
    return remembered.written.length > 0;
  };

  const reconcile = async (
    key: string,
    signal: AbortSignal,
    reconcileId: string | undefined,
    orphanGuard: OrphanGuard,
  ): Promise<ReconcileOutcome> => {
    const remembered = memory.of(key);
    if (view.resource(key) !== undefined && cachesLag(remembered)) {
      return { kind: 'requeue', afterMs: CATCH_UP_MS };
    }
    const gathered = gather(view, key);
    const options = { ...shared, logger: withFields(shared.logger, { reconcileId, ...changeOf(gathered) }) };
    if (gathered.kind === 'absent') {
      memory.forget(key);
      options.images?.forget(key);
      return { kind: 'settled' };
    }
    const { resource } = gathered.observed;
    if (resource.metadata.deletionTimestamp !== undefined) {
      return await reportDeletion(gathered.observed, options, remembered, signal);
    }
    if (gathered.kind === 'unreadable') {
      return await rejectSpec(gathered.observed, gathered.problems, options, remembered, signal);
    }
    const identity = await checkIdentity(gathered.observed, { view, client, remembered, signal });
    if (identity.kind === 'refused') {
      return await rejectIdentity(gathered.observed, identity, options, remembered, signal);
    }
    const time = reconcileTime(clock);
    const now = new Date(time.date);
    remembered.checked = checked(resource, options.policy, remembered.checked);
    remembered.responses.recall(resource.status?.acceptedChanges ?? []);
    const responses = remembered.responses.known(time.ticks);
    const { ticks } = time;
    const foreign = await foreignReferences(gathered.observed, { view, client, remembered, signal, ticks });
    const forbidden = [...remembered.checked.forbidden, ...foreign];
    const withSpecChecks = { ...gathered.observed, forbidden, responses };
    const withHostCheck = withHost(withBuildAndImage(withSpecChecks, key, options), options);
    const withEvents = await withWarningEvents(withHostCheck, { client, remembered, time, signal });
    const decided = await decideOnLiveState(withEvents, now, signal);
    const { decision, parentRead } = decided;
    let { observed } = decided;
    const report = async (status: ManagedDeploymentStatus, atOnce = false): Promise<Reported> => {
      const reported = await reportStatus(observed.resource, status, options, remembered, { signal, atOnce });
      if (reported.written !== undefined) orphanGuard.confirmResource();
      return reported;
    };
    const announce = async (): Promise<boolean> => {
      const failures = [...changeFailures(observed), ...serviceFailures(observed)];
      const status = deriveStatus({ observed, decision, failures, config, now });
      const { written } = await report(status);
      if (written === undefined) return false;
      observed = { ...observed, resource: withStatus(observed.resource, status, written) };
      return true;
    };
    const beginning = begins(observed, decision) ? announce : undefined;
    const acted = await applyPlan(
      { observed, decision, remembered, orphanGuard, announce: beginning, parentRead },
      options,
      signal,
    );
    if (acted.outdated) return staleOutcome(acted.error);
    forgetResponses(remembered.responses, decision.comparisons, acted.responses);
    observed = { ...observed, responses: remembered.responses.known(time.ticks) };
    const failures = [
      ...namespaceTerminating(acted, observed.resource),
      ...acted.failures,
      ...changeFailures(observed),
      ...serviceFailures(observed),
      ...lastingError(acted.error, remembered),
    ];
    const remaining = failedByRefusal(acted.failures, without(decision, acted.done), observed);
    const status = deriveStatus({ observed, decision: remaining, failures, config, now });
    const reported = await report(status, acted.error !== undefined).catch(unlessNamespaceTerminating(acted));
    recordSpan(options, observed.resource, { acted, reported, reconcileId, now });
    const outcome = nextReconcile({
      observed,
      decision: remaining,
      acted,
      reported,
      status,
      remembered,
      time,
    });
    return requeueForReferences(outcome, remembered);
  };

  return async (key, signal, reconcileId) => {
    const orphanGuard = new OrphanGuard(shared.mayAct);
    let outcome: ReconcileOutcome;
    try {
      outcome = await reconcile(key, signal, reconcileId, orphanGuard);
    } catch (error) {
      await orphanGuard.collectOrphans().catch(() => undefined);
      throw error;
    }
    return (await checkOrphans(orphanGuard)) ?? outcome;
  };
}

/**
 * Requeues while references are forbidden, because no watch event reports that the referenced objects were created or
 * deleted.
 */
function requeueForReferences(outcome: ReconcileOutcome, { references }: Remembered): ReconcileOutcome {
  const pauseMs = references?.pauseMs ?? null;
  if (pauseMs === null || outcome.kind === 'retry' || outcome.kind === 'terminal') return outcome;
  const afterMs = outcome.kind === 'requeue' ? Math.min(outcome.afterMs, pauseMs) : pauseMs;
  return { kind: 'requeue', afterMs };
}

/** Checks objects that were created without an owner, unless a later write has confirmed the custom resource. */
async function checkOrphans(orphanGuard: OrphanGuard): Promise<ReconcileOutcome | undefined> {
  try {
    await orphanGuard.collectOrphans();
    return undefined;
  } catch (error) {
    if (!isKubeError(error) || error.kind === 'aborted') throw error;
    return { kind: 'retry', error };
  }
}

/** Adds the state of builds and image lookups, which run outside the reconcile workers. */
function withBuildAndImage(
  observed: Observed,
  key: string,
  { builds, images }: Pick<ReconcilerOptions, 'builds' | 'images'>,
): Observed {
  const { resource } = observed;
  const build = builds === undefined ? unbuiltStatus(resource) : builds.statusOf(resource);
  const image = images?.resolve(key, imageQuery(observed));
  return {
    ...observed,
    ...(build === undefined ? {} : { build }),
    ...(image === undefined ? {} : { image }),
  };
}

/**
 * Adds why the desired host is rejected: it belongs to another deployment or the platform, or the policy does not allow
 * it.
 */
function withHost(observed: Observed, { view, ownHost, platformHosts, policy }: ReconcilerOptions): Observed {
  const hostRefused = hostRefusal(observed, view, {
    own: ownHost ?? null,
    others: platformHosts ?? [],
    refused: policy.custom_url.refused_hosts,
  });
  return hostRefused === null ? observed : { ...observed, hostRefused };
}

/** Records one span for each reconcile that changed an object. Most reconciles change nothing. */
function recordSpan(
  { span, clock }: ReconcilerOptions,
  { spec, metadata }: ObservedResource,
  result: { acted: Acted; reported: Reported; reconcileId: string | undefined; now: Date },
): void {
  const { acted, reported, reconcileId, now } = result;
  const { deploymentId, generation, revision } = spec;
  const isIdle = acted.done.length === 0 && reported.written === undefined && acted.error === undefined;
  if (span === undefined || deploymentId === undefined || isIdle) return;
  const { error } = acted;
  span({
    name: 'reconcile',
    change: { deploymentId, generation },
    attributes: {
      'berth.reconcile_id': reconcileId,
      'berth.revision_id': revision?.id,
      'berth.resource': `${metadata.namespace}/${metadata.name}`,
      'berth.actions': acted.done.length,
    },
    beganAt: now.getTime(),
    endedAt: clock.date().getTime(),
    error: error === undefined ? undefined : String(error instanceof Error ? error.message : error),
  });
}

/** Log fields that identify the change of the hub. Hub and listener log the same names. */
function changeOf(gathered: Gathered): object {
  if (gathered.kind !== 'found') return {};
  const { deploymentId, generation, revision } = gathered.observed.resource.spec;
  return { deploymentId, generation, revisionId: revision?.id };
}

/**
 * Whether a rollout is about to begin that the status does not name yet. The status names the rollout before any
 * workload changes, so that a crash between two calls, or a later change of the spec, does not lose the information
 * about what was rolled out.
 */
function begins({ resource }: Observed, { target, startedAt }: Decision): boolean {
  return startedAt !== null && resource.status?.rollout?.templates !== target.name;
}

/** The resource after a write of its status. */
function withStatus(
  resource: ObservedResource,
  status: ManagedDeploymentStatus,
  { metadata: { resourceVersion } }: KubeObject,
): ObservedResource {
  const metadata = { ...resource.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return { ...resource, metadata, status };
}

/** The decision without the actions that the cluster has confirmed. */
function without(decision: Decision, done: readonly Action[]): Decision {
  const { actions, waiting } = decision.plan;
  return { ...decision, plan: { actions: actions.filter((action) => !done.includes(action)), waiting } };
}

/** Reports that the namespace is being deleted, so that no object can be created in it. */
function namespaceTerminating({ leaving }: Acted, { metadata: { namespace } }: ObservedResource): Failure[] {
  if (!leaving) return [];
  const message = `Namespace ${namespace} is being deleted: no object can be created in it`;
  return [{ actionId: '', reason: 'NamespaceTerminating', final: false, message }];
}

/**
 * In a namespace that is being deleted, the operator's rights may be removed first. A rejection for this reason is
 * ignored.
 */
function unlessNamespaceTerminating({ leaving }: Acted): (error: unknown) => Reported {
  return (error) => {
    if (!leaving || !isKubeError(error, 'forbidden')) throw error;
    return {};
  };
}

/** A persistent error, as a failure for the status. */
function lastingError(error: KubeError | undefined, { errors }: Remembered): Failure[] {
  if (error === undefined || errors < ERRORS_BEFORE_REPORTING) return [];
  return [
    {
      actionId: '',
      reason: 'ReconcileFailed',
      final: false,
      message: `${error.message}; the operator retries`,
    },
  ];
}
