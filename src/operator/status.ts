import type { ManagedDeploymentStatus } from '../contract/managed-deployment.ts';
import type { RenderConfig } from '../contract/render-config.ts';
import { type Condition, isDataReady, type Reason } from '../domain/conditions.ts';
import { canonicalJson } from '../domain/hash.ts';
import { deploymentStatus } from '../domain/states.ts';
import { isPaused, shortened, toConditions } from './conditions.ts';
import type { Decision } from './decide.ts';
import type { Failure } from './failure.ts';
import { type Facts, findings, isOff } from './findings.ts';
import type { Observed, ObservedResource } from './observed.ts';
import { routeReady, servedUrl } from './route-state.ts';
import { imageOf } from './target.ts';

export interface StatusInput {
  readonly observed: Observed;
  readonly decision: Decision;
  readonly failures: readonly Failure[];
  readonly config: RenderConfig;
  readonly now: Date;
}

/**
 * The whole status that follows from what was observed.
 *
 * `observedGeneration` is the Kubernetes one: what this status speaks of. `observedSpecGeneration` is the hub's
 * generation in effect: it moves on when everything that the generation wants is there (until a revision is active,
 * nothing older can be in effect, so it moves at once, unless what was active before is to come back). So "observed =
 * wanted" means that the cluster runs what is wanted.
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
  const activeRevision = nextActive(before, decision);
  const facts: Facts = {
    observed,
    decision,
    failures,
    paused: isPaused(resource),
    off: isOff(observed),
    activeRevision,
    route: routeReady(observed, config),
  };
  const found = findings(facts);
  const conditions = toConditions(found, resource, now);
  const url = servedUrl(observed, config);
  const rollout = nextRollout(before, decision, facts);
  const failedRevision = nextFailed(before, observed, decision, activeRevision);
  const inEffect = isThere(facts, conditions) || (activeRevision === undefined && !mayHaveServed(facts));
  const { generation, failed } = resource.spec;
  const formerly = before.observedSpecGeneration ?? failed?.observedGeneration ?? generation;
  return {
    observedGeneration: resource.metadata.generation,
    observedSpecGeneration: inEffect ? generation : formerly,
    status: statusWord(facts, conditions),
    suspended: facts.off,
    conditions,
    ...(activeRevision === undefined ? {} : { activeRevision }),
    ...(failedRevision === undefined ? {} : { failedRevision }),
    ...(rollout === undefined ? {} : { rollout }),
    dataImages: decision.dataImages,
    components: [...decision.components],
    ...(url === null ? {} : { url }),
  };
}

/**
 * The active revision moves when every component was seen to run the target, and its templates are stored. One that was
 * brought back although no status told of it is as active as it was.
 */
function nextActive(
  before: ManagedDeploymentStatus,
  { target, verdict }: Decision,
): ManagedDeploymentStatus['activeRevision'] {
  const arrived = target.kind === 'rollout' && verdict.kind === 'complete' && target.store === null;
  const isBack = target.kind === 'restored' && verdict.kind === 'failed' && verdict.awaited === null;
  if (
    !(arrived || (isBack && before.activeRevision === undefined)) ||
    target.revision === null ||
    target.name === null
  )
    return before.activeRevision;
  const image = imageOf(target);
  return { ...target.revision, templates: target.name, ...(image === undefined ? {} : { image }) };
}

function nextRollout(
  before: ManagedDeploymentStatus,
  { target, startedAt }: Decision,
  { paused }: Facts,
): ManagedDeploymentStatus['rollout'] {
  if (startedAt === null || target.revision === null || target.name === null) return undefined;
  if (before.rollout?.templates !== target.name && paused) return before.rollout;
  return { ...target.revision, templates: target.name, startedAt };
}

/**
 * The failure that stands: what was just seen to fail, or what is still wanted and has failed. That of a revision is
 * kept while a newer one rolls: the hub may not have heard of it yet.
 */
function nextFailed(
  { failedRevision }: ManagedDeploymentStatus,
  { resource }: Observed,
  { target, verdict }: Decision,
  activeRevision: ManagedDeploymentStatus['activeRevision'],
): ManagedDeploymentStatus['failedRevision'] {
  if (verdict.kind === 'failed' && verdict.seen && target.revision !== null) {
    const { reason, message, culprit } = verdict;
    const templates = target.name === null ? {} : { templates: target.name };
    const { generation } = resource.spec;
    const inPlace = target.revision.number === activeRevision?.number;
    return {
      ...target.revision,
      reason,
      message: `${shortened(message)}; ${inPlace ? CHANGE_AGAIN : REDEPLOY}`,
      culprit,
      ...templates,
      generation,
    };
  }
  if (target.failed !== null) return target.failed;
  if (failedRevision?.id === undefined) return undefined;
  return failedRevision.number > (activeRevision?.number ?? 0) ? failedRevision : undefined;
}

/** Nothing tries again what has failed: who reads of it is told what does. */
const REDEPLOY = 'it is not tried again: redeploy makes a new revision of the same content';
const CHANGE_AGAIN = 'it is not tried again until source_config changes';

/** No status tells of it, but a revision before the wanted one was active, and comes back first. */
function mayHaveServed({ observed, decision }: Facts): boolean {
  return decision.target.kind === 'restored' || observed.resource.spec.failed?.activeRevision !== undefined;
}

/** Everything that this generation wants is there, be it nothing. */
function isThere({ observed, decision, failures, off }: Facts, conditions: readonly Condition[]): boolean {
  if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) return true;
  const { plan, verdict } = decision;
  const atRest = plan.actions.length + plan.waiting.length + failures.length === 0;
  const dataReady = isDataReady(conditions);
  return atRest && verdict.kind === 'idle' && (observed.resource.spec.suspend ? off : dataReady);
}

function statusWord({ observed, off, activeRevision }: Facts, conditions: readonly Condition[]): string {
  return deploymentStatus({
    deleting: false,
    listenerAlive: true,
    observed: true,
    hasRunnableRevision: observed.resource.spec.revision.image !== undefined || activeRevision !== undefined,
    observedOff: off,
    dataReady: isDataReady(conditions),
  });
}

/** The status of a resource for which nothing is done: all but Ready stays as it was. */
export function refusedStatus(
  resource: ObservedResource,
  reason: Reason,
  message: string,
  now: Date,
): ManagedDeploymentStatus {
  const Ready = { status: 'False', reason, message } as const;
  const others = (resource.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  return {
    ...resource.status,
    observedGeneration: resource.metadata.generation,
    conditions: [...others, ...toConditions({ Ready }, resource, now)],
  };
}

export type StatusChange = 'none' | 'counts' | 'state';

/** Whether a status has to be written. `counts`: only numbers and wording moved, which may wait a moment. */
export function statusChange(
  before: ManagedDeploymentStatus | undefined,
  after: ManagedDeploymentStatus,
): StatusChange {
  if (canonicalJson(before ?? {}) === canonicalJson(after)) return 'none';
  return canonicalJson(withoutCounts(before ?? {})) === canonicalJson(withoutCounts(after))
    ? 'counts'
    : 'state';
}

function withoutCounts({ components: _, conditions, ...rest }: ManagedDeploymentStatus): object {
  return { ...rest, conditions: conditions?.map(({ message: _message, ...condition }) => condition) };
}
