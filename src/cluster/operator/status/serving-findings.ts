import { LABELS } from '../../../contract/resource/names.ts';
import { finalizerHold } from '../../../domain/deployment/deletion-hold.ts';
import { labelValue } from '../../../workloads/labels.ts';
import { componentName } from '../../../workloads/names.ts';
import type { Facts } from '../observe/facts.ts';
import { type ChildObject, childId, type Observed } from '../observed.ts';
import { hasEnded, isReadyPod, podsOf } from '../pods/pod-trouble.ts';
import { workloadState } from '../pods/workload-state.ts';
import type { RevisionRef } from '../rollout/target.ts';
import { type Finding, no, yes } from './conditions.ts';
import { revisionName } from './rollout-findings.ts';

/** Whether the app answers. */
export function serving({ observed, decision, activeRevision, off }: Facts): Finding {
  if (activeRevision === undefined) return no('Unavailable', 'no revision is active yet');
  if (off) return no('SwitchedOff', 'switched off: nothing serves');
  const { target, components } = decision;
  // On the way to another revision, and on the way back, the pods of that one answer too, and at its end alone.
  const answering = [activeRevision, target.revision, target.failed].find(
    (revision) => revision && hasReadyPod(observed, revision),
  );
  // The Deployment may be ahead of the cache of pods.
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
    ? no('SwitchedOff', 'is being switched off: nothing serves')
    : no('Unavailable', `no api pod of ${revisionName(activeRevision.number)} is available`);
}

/** How the cluster changes the template that this revision's api pods are made of; undefined: it does not. */
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

/** The same of a resource of which nothing is decided: what runs there may be of any revision that it was to run. */
export function stillServing(observed: Observed, off: boolean): Finding {
  const { activeRevision, rollout, failedRevision } = observed.resource.status ?? {};
  if (activeRevision === undefined) return no('Unavailable', 'no revision is active yet');
  if (off) return no('SwitchedOff', 'switched off: nothing serves');
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

/** The Deployment of the api component is being deleted: its pods may end at any moment. */
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

/** Nothing of a deployment that is switched off runs any more: no pod is left that has not ended, and none is asked for. */
export function isOff({ resource, pods, children }: Observed): boolean {
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
 * Its spec is what it was made with: one that was made with no pods has none, before its controller has seen it too. A
 * generation that has risen for whatever reason waits for the controller.
 */
function isAsMade({ metadata }: ChildObject): boolean {
  return metadata.generation === 1;
}
