import { LABELS } from '../../../contract/resource/names.ts';
import { finalizerHold } from '../../../domain/deployment/deletion-hold.ts';
import { labelValue } from '../../../workloads/labels.ts';
import { componentName } from '../../../workloads/names.ts';
import { hasEnded } from '../../kube/client/object.ts';
import { type ChildObject, childId, type Observed } from '../observed.ts';
import { isReadyPod, podsOf } from '../pods/pod-trouble.ts';
import { workloadState } from '../pods/workload-state.ts';
import { failureOf, type RevisionRef } from '../rollout/target.ts';
import { type Finding, no, yes } from './conditions.ts';
import type { Facts } from './facts.ts';
import { revisionName } from './rollout-findings.ts';

/** The condition Serving. */
export function serving({ observed, decision, activeRevision, off }: Facts): Finding {
  if (activeRevision === undefined) return no('Unavailable', 'no revision is active yet');
  if (off) return no('SwitchedOff', 'switched off: no pod serves');
  const { target, components } = decision;
  // During a rollout or rollback, pods of the other revision also serve. When the rollout or rollback ends, only pods
  // of the other revision serve.
  const answering = [activeRevision, target.revision, failureOf(target)?.failed].find(
    (revision) => revision && hasReadyPod(observed, revision),
  );
  // The counts of the Deployment may be newer than the pod cache.
  const counted =
    (target.name === activeRevision.templates || target.kind === 'rollout') &&
    components.some(({ name, updated, available }) => name === 'api' && Math.min(updated, available) > 0);
  const { number } = answering ?? target.revision ?? activeRevision;
  if (answering && apiLeaves(observed)) return leaving(observed);
  const changed = answering || counted ? changedTemplate(observed, decision, number) : undefined;
  if (changed !== undefined) {
    const message = `pods of revision ${number} are available, but the cluster changes their template: ${changed}`;
    return { status: 'Unknown', reason: 'FieldsChangedByCluster', message };
  }
  if (answering || counted) return yes('Available', `an api pod of ${revisionName(number)} is available`);
  return observed.resource.spec.suspend
    ? no('SwitchedOff', 'is being switched off: no pod serves')
    : no('Unavailable', `no api pod of ${revisionName(activeRevision.number)} is available`);
}

/** How the cluster changes the template of this revision's api pods; undefined: no change. */
function changedTemplate(
  { resource }: Observed,
  { target, comparisons }: Facts['decision'],
  number: number,
): string | undefined {
  if (target.revision?.number !== number) return undefined;
  const id = childId('Deployment', componentName(resource, 'api'));
  const { change } = comparisons.find((candidate) => candidate.id === id) ?? {};
  return change?.isSafe === false && change.fields.includes('spec.template') ? change.fields : undefined;
}

/** The condition Serving of a resource without a decision. The pods may belong to any revision of the resource. */
export function stillServing(observed: Observed, off: boolean): Finding {
  const { activeRevision, rollout, failedRevision } = observed.resource.status ?? {};
  if (activeRevision === undefined) return no('Unavailable', 'no revision is active yet');
  if (off) return no('SwitchedOff', 'switched off: no pod serves');
  const answering = [activeRevision, rollout, failedRevision].find(
    (revision) => revision && hasReadyPod(observed, revision),
  );
  if (answering !== undefined && apiLeaves(observed)) return leaving(observed);
  return answering === undefined
    ? no('Unavailable', `no api pod of ${revisionName(activeRevision.number)} is available`)
    : yes('Available', `an api pod of ${revisionName(answering.number)} is available`);
}

const apiOf = ({ resource, children }: Observed) =>
  children.get(childId('Deployment', componentName(resource, 'api')));

/**
 * Whether the Deployment of the api component is being deleted. The pods of such a Deployment may end at any moment.
 */
function apiLeaves(observed: Observed): boolean {
  return apiOf(observed)?.metadata.deletionTimestamp !== undefined;
}

function leaving(observed: Observed): Finding {
  const api = apiOf(observed);
  const held = api === undefined ? null : finalizerHold(api);
  const message = held?.message ?? `Deployment ${api?.metadata.name} is being deleted`;
  return { status: 'Unknown', reason: held?.reason ?? 'Reconciling', message };
}

function hasReadyPod(observed: Observed, { id, number }: RevisionRef): boolean {
  const label = labelValue(id ?? String(number));
  return podsOf(observed, 'api').some(
    (pod) => isReadyPod(pod) && pod.metadata.labels?.[LABELS.revisionId] === label,
  );
}

/** Whether a suspended deployment is off: all its pods have ended, and no workload requests pods. */
export function isObservedOff({ resource, pods, children }: Observed): boolean {
  if (!resource.spec.suspend || !pods.every(hasEnded)) return false;
  const workloads = [...children.values()].filter(
    ({ kind }) => kind === 'Deployment' || kind === 'StatefulSet',
  );
  return workloads.every((workload) => {
    const { wanted, pods: counted, current } = workloadState(workload);
    return wanted === 0 && counted === 0 && (current || isAsMade(workload));
  });
}

/**
 * Whether the spec is unchanged since creation. A workload with an unchanged spec was created with no replicas and has
 * no pods, even before its controller observed it. The controller must first observe a higher generation.
 */
function isAsMade({ metadata }: ChildObject): boolean {
  return metadata.generation === 1;
}
