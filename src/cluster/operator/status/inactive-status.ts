import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { unobservedDomain } from '../../../domain/app-hosts/domain-status.ts';
import {
  type ConditionType,
  isDataReady,
  PROGRESS_TYPES,
  type Reason,
} from '../../../domain/conditions/conditions.ts';
import { combinedHold, type DeletionHold } from '../../../domain/deployment/deletion-hold.ts';
import {
  type DeploymentStatus,
  deploymentStatus as deploymentStatusOf,
} from '../../../domain/revision/states.ts';
import type { DataServiceName } from '../../../workloads/data-services.ts';
import type { Observed, ObservedResource } from '../observed.ts';
import { type Finding, isPaused, pausedFinding, toConditions, wasPaused, yes } from './conditions.ts';
import { cacheReady, databaseReady } from './service-findings.ts';
import { isObservedOff, stillServing } from './serving-findings.ts';

/**
 * The status of a resource that the operator does not reconcile. The operator no longer observes the objects of this
 * resource, so earlier observations are not reported as current. Decisions are kept: the active revision and the failed
 * revision. The hosts of its routes are also kept, because no other resource may get them yet.
 */
export function rejectedStatus(
  resource: ObservedResource,
  reason: Reason,
  message: string,
  now: Date,
): ManagedDeploymentStatus {
  const Ready = { status: 'False', reason, message } as const;
  const ended: Finding = { ...Ready, status: 'True' };
  const progress = isPaused(resource)
    ? { Paused: pausedFinding(resource, 'no rollout continues') }
    : reason === 'TakingOver'
      ? { Reconciling: ended }
      : { Stalled: ended };
  const unseen: Finding = { status: 'Unknown', reason, message };
  const { url: _, components: __, symptoms: ___, keptVolume: ____, ...rest } = resource.status ?? {};
  const { Paused: _former, ...others } = everyCondition(resource, unseen);
  return {
    ...rest,
    ...unobservedDomains(rest),
    ...(wasPaused(resource) ? restartedDeadlines(rest, now) : {}),
    observedGeneration: resource.metadata.generation,
    ...(resource.status?.deploymentStatus === undefined
      ? {}
      : { deploymentStatus: 'UNKNOWN' satisfies DeploymentStatus }),
    conditions: toConditions({ ...others, Ready, ...progress }, resource, now),
  };
}

/** The additional hosts without their former states. Decisions about their proof are kept. */
function unobservedDomains({
  domains,
  routes,
}: ManagedDeploymentStatus): Pick<ManagedDeploymentStatus, 'domains'> {
  if (domains === undefined) return {};
  const hosts = domains.hosts.map(({ host, challenge, proof, routedBeforeProof: before }) => {
    const isRouted = proof === 'NOT_REQUIRED' && routes?.hosts.includes(host) === true;
    return {
      ...unobservedDomain(host),
      ...(challenge === undefined ? {} : { challenge }),
      ...(before === true || isRouted ? { routedBeforeProof: true } : {}),
    };
  });
  return { domains: { ...domains, hosts } };
}

/** The rollout and the wait in the status, which begin again after a pause. This status no longer shows the pause. */
function restartedDeadlines(
  { rollout, awaiting }: ManagedDeploymentStatus,
  now: Date,
): Pick<ManagedDeploymentStatus, 'rollout' | 'awaiting'> {
  const startTime = now.toISOString();
  return {
    ...(rollout === undefined ? {} : { rollout: { ...rollout, startTime } }),
    ...(awaiting === undefined ? {} : { awaiting: { ...awaiting, startTime } }),
  };
}

/**
 * The status of a resource whose spec cannot be parsed. No object is changed. State that can be observed without the
 * spec is reported. The rest is Unknown.
 * @param observed with a placeholder spec (placeholder-spec.ts)
 */
export function unreadableStatus(observed: Observed, message: string, now: Date): ManagedDeploymentStatus {
  const { resource } = observed;
  const refused = rejectedStatus(resource, 'Refused', message, now);
  const { deploymentStatus: former, activeRevision } = resource.status ?? {};
  if (former === undefined) return refused;
  const off = isObservedOff(observed);
  const facts = { observed, failures: [], off, now };
  const seen: Partial<Record<ConditionType, Finding | null>> = {
    DatabaseReady: ofLastSpec(databaseReady(facts), 'database'),
    CacheReady: ofLastSpec(cacheReady(facts), 'cache'),
    Serving: stillServing(observed, off),
  };
  const conditions = (refused.conditions ?? []).flatMap((condition) => {
    const finding = seen[condition.type as ConditionType];
    return finding === undefined ? [condition] : toConditions({ [condition.type]: finding }, resource, now);
  });
  const status = deploymentStatusOf({
    deleting: former === ('AWAITING_DELETE' satisfies DeploymentStatus),
    watched: true,
    observed: true,
    hasRunnableRevision: activeRevision !== undefined || former !== ('UNUSED' satisfies DeploymentStatus),
    observedOff: off,
    dataReady: isDataReady(conditions),
  });
  return { ...refused, deploymentStatus: status, suspended: off, conditions };
}

/** States no value of a spec that cannot be parsed. The placeholder has the services of the last spec. */
function ofLastSpec(finding: Finding | null, service: DataServiceName): Finding | null {
  if (finding === null || !isDisabledReason(finding.reason)) return finding;
  return yes(finding.reason, `the last spec that could be parsed has no ${service}`);
}

const isDisabledReason = (reason: Reason) => reason === 'DatabaseDisabled' || reason === 'CacheDisabled';

/** All conditions of the current status, with this finding. Reconciling and Stalled are never Unknown. */
function everyCondition({ status }: ObservedResource, finding: Finding): Record<string, Finding> {
  const types = (status?.conditions ?? []).map(({ type }) => type);
  return Object.fromEntries(types.filter((type) => !PROGRESS_TYPES.has(type)).map((type) => [type, finding]));
}

/**
 * The status of a resource that is being deleted. A resource that is being deleted is no longer reconciled or observed,
 * so earlier observations are not reported as current.
 * @param holds what is known to block the deletion
 */
export function deletionStatus(
  resource: ObservedResource,
  holds: readonly DeletionHold[],
  now: Date,
): ManagedDeploymentStatus {
  const { deletionTimestamp = '' } = resource.metadata;
  const since = `being deleted since ${deletionTimestamp}, after the objects that it owns`;
  const unseen: Finding = { status: 'Unknown', reason: 'BeingDeleted', message: since };
  const hold = combinedHold(holds);
  const Ready: Finding =
    hold === undefined
      ? { ...unseen, status: 'False' }
      : { status: 'False', reason: hold.reason, message: `${hold.message}; ${since}` };
  const {
    url: _,
    components: __,
    routes: ___,
    symptoms: ____,
    domains: _____,
    ...rest
  } = resource.status ?? {};
  return {
    ...rest,
    observedGeneration: resource.metadata.generation,
    deploymentStatus: 'AWAITING_DELETE' satisfies DeploymentStatus,
    conditions: toConditions({ ...everyCondition(resource, unseen), Ready }, resource, now),
  };
}
