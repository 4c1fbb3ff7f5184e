import type { RenderConfig } from '../../../contract/render/render-config.ts';
import { type BuildStatus, MAX_BUILD_MESSAGE } from '../../../contract/resource/build.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { type Condition, isDataReady } from '../../../domain/conditions/conditions.ts';
import { deploymentStatus } from '../../../domain/revision/states.ts';
import { acceptedChanges } from '../act/learn-responses.ts';
import type { Decision } from '../decide/decide.ts';
import { volumeStatus } from '../decide/plan-volume.ts';
import { fitsConnections, scalesOf, scalesSeen } from '../decide/scales.ts';
import { asServed, needsDatabase } from '../decide/services-in-use.ts';
import { domainFindings } from '../domains/domain-findings.ts';
import { resolvedImage } from '../images/revision-image.ts';
import type { Failure } from '../observe/failure.ts';
import { keptVolume } from '../observe/kept-volume.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import { nextRelease } from '../releases/next-release.ts';
import { awaitedBy, imageOf, isSame, revisionOf, servedBy, type Target } from '../rollout/target.ts';
import { isPaused, shortened, toConditions } from './conditions.ts';
import type { Facts } from './facts.ts';
import { findings } from './findings.ts';
import { isAtRest, ready } from './ready-findings.ts';
import { routeReady, routesSeen, servedUrl } from './route-state.ts';
import { isObservedOff } from './serving-findings.ts';
import { nextFailures } from './status-failures.ts';

export interface StatusInput {
  readonly observed: Observed;
  readonly decision: Decision;
  readonly failures: readonly Failure[];
  readonly config: RenderConfig;
  readonly now: Date;
}

/**
 * Derives the whole status from the observed state.
 *
 * `observedGeneration` is the Kubernetes generation that this status describes. `observedRecordGeneration` is the hub's
 * generation in effect. The second value advances when all that the generation requests is in effect. While no revision
 * is active, the second value advances at once, unless a former active revision is being restored. Equal generations
 * mean that the cluster runs the desired state.
 */
export function deriveStatus({
  observed,
  decision,
  failures,
  config,
  now,
}: StatusInput): ManagedDeploymentStatus {
  const { resource } = observed;
  const before = resource.status ?? {};
  const activeRevision = nextActive(before, observed, decision);
  const domains = domainFindings(observed, config);
  const facts: Facts = {
    observed: { ...observed, resource: asServed(observed) },
    decision,
    failures,
    now,
    paused: isPaused(resource),
    off: isObservedOff(observed),
    activeRevision,
    route: routeReady(observed, config),
    domains: domains?.condition ?? null,
    schedules: observed.schedules ?? null,
  };
  const found = findings(facts);
  const conditions = toConditions(found, resource, now);
  const url = servedUrl(observed, config);
  const accepted = acceptedChanges(observed);
  const routes = routesSeen(observed, config);
  const rollout = nextRollout(before, decision, facts);
  const volume = volumeStatus(observed, failures);
  const release = nextRelease(observed, decision.target);
  const kept = keptVolume(observed, needsDatabase(observed, decision.target));
  const failed = nextFailures(before, observed, decision, activeRevision);
  const inEffect = isThere(facts, conditions) || (activeRevision === undefined && !mayHaveServed(facts));
  const { recordGeneration, failed: known } = resource.spec;
  const formerly = before.observedRecordGeneration ?? known?.observedRecordGeneration ?? recordGeneration;
  return {
    observedGeneration: resource.metadata.generation,
    observedRecordGeneration: inEffect ? recordGeneration : formerly,
    deploymentStatus: statusWord(facts, conditions),
    suspended: facts.off,
    conditions,
    ...(activeRevision === undefined ? {} : { activeRevision }),
    ...failed,
    ...(decision.symptoms.records.length === 0 ? {} : { symptoms: [...decision.symptoms.records] }),
    ...(rollout === undefined ? {} : { rollout }),
    ...nextAwaiting(observed, decision),
    ...(release === undefined ? {} : { release }),
    ...resolvedImage(observed),
    ...(observed.build === undefined ? {} : { build: boundedBuild(observed.build) }),
    ...(volume === undefined ? {} : { volume }),
    ...(kept === undefined ? {} : { keptVolume: kept }),
    dataImages: decision.dataImages,
    ...(accepted.length === 0 ? {} : { acceptedChanges: accepted }),
    components: [...decision.components],
    ...(url === null ? {} : { url }),
    ...(domains === null ? {} : { domains: domains.status }),
    ...(routes === undefined ? {} : { routes }),
  };
}

/**
 * Limits the length of the message of a build. The message may quote a scheduler or a webhook at any length, and the
 * API server would reject the whole status.
 */
function boundedBuild(build: BuildStatus): BuildStatus {
  const { message } = build;
  return message === undefined ? build : { ...build, message: shortened(message, MAX_BUILD_MESSAGE) };
}

/**
 * The active revision changes when every component runs the target and its templates are stored. A restored revision
 * that the status does not record becomes active again.
 */
function nextActive(
  before: ManagedDeploymentStatus,
  observed: Observed,
  { target, verdict }: Decision,
): ManagedDeploymentStatus['activeRevision'] {
  const { resource } = observed;
  const { activeRevision } = before;
  const complete = verdict.kind === 'complete' && target.store === null;
  const arrived = target.kind === 'rollout' && complete;
  const isBack = target.kind === 'restored' && verdict.kind === 'failed' && verdict.awaited === null;
  if (
    !(arrived || (isBack && activeRevision === undefined)) ||
    target.revision === null ||
    target.name === null
  )
    return withScales(activeRevision, resource, target, { complete, isBack });
  const image = imageOf(target);
  const scales = isBack
    ? servedBy(target)?.scales
    : isOfSpec(resource, target)
      ? scalesOf(resource, target)
      : scalesSeen(observed, target);
  return {
    ...target.revision,
    templates: target.name,
    ...(image === undefined ? {} : { image }),
    ...(scales === undefined ? {} : { scales }),
  };
}

/** Records a new scale in effect. Components that the spec no longer has keep their former scale. */
function withScales(
  active: ManagedDeploymentStatus['activeRevision'],
  resource: ObservedResource,
  target: Target,
  { complete, isBack }: { complete: boolean; isBack: boolean },
): ManagedDeploymentStatus['activeRevision'] {
  if (active === undefined) return undefined;
  if (complete && target.kind === 'active' && isOfSpec(resource, target)) {
    return { ...active, scales: scalesOf(resource, target) };
  }
  const isBackAsWanted =
    isBack && target.heldUntil === null && fitsConnections(resource, target.templates ?? {});
  return isBackAsWanted ? { ...active, scales: { ...active.scales, ...scalesOf(resource, target) } } : active;
}

/** Whether the scale in the spec applies to the running revision, not to a newer revision that waits. */
function isOfSpec({ spec }: ObservedResource, target: Target): boolean {
  const { revision, heldUntil } = target;
  return (
    heldUntil === null && awaitedBy(target) === null && revision !== null && isSame(revision, spec.revision)
  );
}

function nextRollout(
  before: ManagedDeploymentStatus,
  { target, startedAt, templatesAt }: Decision,
  { paused }: Facts,
): ManagedDeploymentStatus['rollout'] {
  if (startedAt === null || target.revision === null || target.name === null) return undefined;
  if (before.rollout?.templates !== target.name && paused) return before.rollout;
  const changed = templatesAt === null ? {} : { templatesChangeTime: templatesAt };
  return { ...target.revision, templates: target.name, startTime: startedAt, ...changed };
}

function nextAwaiting(
  { resource }: Observed,
  { target, awaitingSince, verdict }: Decision,
): Pick<ManagedDeploymentStatus, 'awaiting'> {
  if (awaitingSince === null || verdict.kind === 'failed') return {};
  const awaits = awaitedBy(target) ?? resource.spec.revision;
  return { awaiting: { ...revisionOf(awaits), startTime: awaitingSince } };
}

/** Whether an earlier revision was active and is restored first, although no status records it. */
function mayHaveServed({ observed, decision }: Facts): boolean {
  return decision.target.kind === 'restored' || observed.resource.spec.failed?.activeRevision !== undefined;
}

/**
 * Whether all that this generation requests is in effect, even if it requests no workloads. It does not request a build
 * that has failed before.
 */
function isThere(facts: Facts, conditions: readonly Condition[]): boolean {
  if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) return true;
  const { build, ...others } = facts.observed;
  const isOfEarlier = build !== undefined && others.resource.spec.build === undefined;
  if (isOfEarlier && ready({ ...facts, observed: others }).status === 'True') return true;
  return isAtRest(facts) && (facts.observed.resource.spec.suspend ? facts.off : isDataReady(conditions));
}

/** Whether the spec has an image to run, or requests a build. */
function isRunnable({ spec: { revision, build } }: ObservedResource): boolean {
  return revision.image !== undefined || build !== undefined;
}

function statusWord({ observed, off, activeRevision }: Facts, conditions: readonly Condition[]): string {
  return deploymentStatus({
    deleting: observed.resource.spec.deletion !== undefined,
    watched: true,
    observed: true,
    hasRunnableRevision: isRunnable(observed.resource) || activeRevision !== undefined,
    observedOff: off,
    dataReady: isDataReady(conditions),
  });
}
