import type { ManagedDeploymentStatus } from '../../contract/resource/managed-deployment.ts';
import { withFields } from '../../domain/core/logger.ts';
import { isKubeError, type KubeError } from '../kube/client/errors.ts';
import type { KubeObject } from '../kube/client/object.ts';
import type { Outcome } from '../kube/queue/controller.ts';
import { foreignReferences } from './access/foreign-references.ts';
import { hostRefusal } from './access/host-claims.ts';
import { checkIdentity } from './access/identity-check.ts';
import { serviceFailures } from './access/service-spec-policy.ts';
import { checked } from './access/spec-policy.ts';
import type { Acted } from './act/act.ts';
import { carryOut } from './act/apply-plan.ts';
import { changeFailures, forgetAnswers } from './act/learn-responses.ts';
import { Posts } from './act/orphan-guard.ts';
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
import { lookTime } from './reconcile-time.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { nextLook, type Reported, staleOutcome } from './requeue.ts';
import { DEFAULT_PATIENCE, type Patience } from './rollout/failure-rules.ts';
import { failedBy } from './rollout/refused-rollout.ts';
import { reportStatus } from './status/report-status.ts';
import { deriveStatus } from './status/status.ts';
import { rejectIdentity, rejectSpec, reportDeletion } from './status/terminal-status.ts';

/** The caches have not caught up with our last writes: their events wake us; this is for one that never comes. */
const CATCH_UP_MS = 2_000;
/** A call that failed once is not worth a word in the status. */
const ERRORS_BEFORE_TELLING = 3;

/**
 * Brings one custom resource and the cluster together: gather, decide, act, report.
 * Any look may be the first after a restart; nothing is known but what the cluster holds.
 */
export function createReconciler(
  shared: ReconcilerOptions,
): (key: string, signal: AbortSignal, reconcileId?: string) => Promise<Outcome> {
  const { view, client, config, clock } = shared;
  const patience: Patience = {
    ...DEFAULT_PATIENCE,
    ...shared.patience,
    deadlineMs: config.progressDeadlineSeconds * 1000,
  };
  const memory = new Memory();

  /** A failure is decided on what the server says itself: then what was read of the custom resource before is older. */
  const decideSurely = async (cached: Observed, now: Date, signal: AbortSignal) => {
    const parentRead = await readParentAhead({ client, resource: cached.resource, signal });
    const decision = decide(cached, config, patience, now);
    if (decision.verdict.kind !== 'failed' || !decision.verdict.seen) {
      return { observed: cached, decision, parentRead };
    }
    const observed = await withLiveComponents(cached, decision, view, signal);
    return { observed, decision: decide(observed, config, patience, now), parentRead: undefined };
  };

  /** Whether the caches do not show yet what was written of it: then a look would be for nothing. */
  const lags = (remembered: Remembered): boolean => {
    remembered.written = remembered.written.filter((object) => !view.isCurrent(object));
    return remembered.written.length > 0;
  };

  const look = async (
    key: string,
    signal: AbortSignal,
    reconcileId: string | undefined,
    posts: Posts,
  ): Promise<Outcome> => {
    const remembered = memory.of(key);
    if (view.resource(key) !== undefined && lags(remembered)) {
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
    const time = lookTime(clock);
    const now = new Date(time.date);
    remembered.checked = checked(resource, options.policy, remembered.checked);
    remembered.answers.recall(resource.status?.acceptedChanges ?? []);
    const answers = remembered.answers.known(time.ticks);
    const { ticks } = time;
    const foreign = await foreignReferences(gathered.observed, { view, client, remembered, signal, ticks });
    const forbidden = [...remembered.checked.forbidden, ...foreign];
    const confined = { ...gathered.observed, forbidden, answers };
    const whole = withHost(withWorkElsewhere(confined, key, options), options);
    const told = await withWarningEvents(whole, { client, remembered, time, signal });
    const sure = await decideSurely(told, now, signal);
    const { decision, parentRead } = sure;
    let { observed } = sure;
    const report = async (status: ManagedDeploymentStatus, atOnce = false): Promise<Reported> => {
      const reported = await reportStatus(observed.resource, status, options, remembered, { signal, atOnce });
      if (reported.written !== undefined) posts.resourceIsThere();
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
    const acted = await carryOut(
      { observed, decision, remembered, posts, announce: beginning, parentRead },
      options,
      signal,
    );
    if (acted.outdated) return staleOutcome(acted.error);
    forgetAnswers(remembered.answers, decision.comparisons, acted.answers);
    observed = { ...observed, answers: remembered.answers.known(time.ticks) };
    const failures = [
      ...namespaceLeaves(acted, observed.resource),
      ...acted.failures,
      ...changeFailures(observed),
      ...serviceFailures(observed),
      ...tellable(acted.error, remembered),
    ];
    const left = failedBy(acted.failures, without(decision, acted.done), observed);
    const status = deriveStatus({ observed, decision: left, failures, config, now });
    const reported = await report(status, acted.error !== undefined).catch(unlessLeaving(acted));
    tellSpan(options, observed.resource, { acted, reported, reconcileId, now });
    const outcome = nextLook({ observed, decision: left, acted, reported, status, remembered, time });
    return withReferences(outcome, remembered);
  };

  return async (key, signal, reconcileId) => {
    const posts = new Posts(shared.mayAct);
    let outcome: Outcome;
    try {
      outcome = await look(key, signal, reconcileId, posts);
    } catch (error) {
      await posts.lookAgain().catch(() => undefined);
      throw error;
    }
    return (await secondLook(posts)) ?? outcome;
  };
}

/** References that are forbidden are checked again: no event tells that their objects were made or deleted. */
function withReferences(outcome: Outcome, { references }: Remembered): Outcome {
  const pauseMs = references?.pauseMs ?? null;
  if (pauseMs === null || outcome.kind === 'retry' || outcome.kind === 'terminal') return outcome;
  const afterMs = outcome.kind === 'requeue' ? Math.min(outcome.afterMs, pauseMs) : pauseMs;
  return { kind: 'requeue', afterMs };
}

/** What was made without an owner is looked at again, unless the look has seen its custom resource afterwards. */
async function secondLook(posts: Posts): Promise<Outcome | undefined> {
  try {
    await posts.lookAgain();
    return undefined;
  } catch (error) {
    if (!isKubeError(error) || error.kind === 'aborted') throw error;
    return { kind: 'retry', error };
  }
}

/** With how far builds and looks at registries are, which go on beside the workers. */
function withWorkElsewhere(
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

/** With whether the wanted host is another one's, the platform's, or one that the policy refuses. */
function withHost(observed: Observed, { view, ownHost, platformHosts, policy }: ReconcilerOptions): Observed {
  const hostRefused = hostRefusal(observed, view, {
    own: ownHost ?? null,
    others: platformHosts ?? [],
    refused: policy.custom_url.refused_hosts,
  });
  return hostRefused === null ? observed : { ...observed, hostRefused };
}

/** One span a look that has changed something; most change nothing. */
function tellSpan(
  { span, clock }: ReconcilerOptions,
  { spec, metadata }: ObservedResource,
  look: { acted: Acted; reported: Reported; reconcileId: string | undefined; now: Date },
): void {
  const { acted, reported, reconcileId, now } = look;
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

/** Which change of the hub's it is about: the same names as in the lines of hub and listener. */
function changeOf(gathered: Gathered): object {
  if (gathered.kind !== 'found') return {};
  const { deploymentId, generation, revision } = gathered.observed.resource.spec;
  return { deploymentId, generation, revisionId: revision?.id };
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

/** Nothing can be made in the namespace any more. What is there is told as it is. */
function namespaceLeaves({ leaving }: Acted, { metadata: { namespace } }: ObservedResource): Failure[] {
  if (!leaving) return [];
  const message = `Namespace ${namespace} is being deleted: nothing can be made in it`;
  return [{ actionId: '', reason: 'NamespaceTerminating', final: false, message }];
}

/** The rights in a namespace that is being deleted may be gone before what they are for. */
function unlessLeaving({ leaving }: Acted): (error: unknown) => Reported {
  return (error) => {
    if (!leaving || !isKubeError(error, 'forbidden')) throw error;
    return {};
  };
}

/** An error that lasts, as something to be told. */
function tellable(error: KubeError | undefined, { errors }: Remembered): Failure[] {
  if (error === undefined || errors < ERRORS_BEFORE_TELLING) return [];
  return [
    { actionId: '', reason: 'ReconcileFailed', final: false, message: `${error.message}; it is tried again` },
  ];
}
