/** Oracles on the state of one settled deployment. */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { KEPT_TEMPLATES } from '../../../src/cluster/operator/decide/removals.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { INPUTS_HASH_LABEL } from '../../../src/workloads/labels.ts';
import { SENTINEL_LABEL } from '../../../src/workloads/objects/secret-sentinel.ts';
import { canonical, recordOf, type WalkDeployment } from './answers.ts';
import { type ClusterState, comparable, maskText, replacements } from './cluster-state.ts';
import { differences, diffObjects } from './diff.ts';

/** In use beside the ones that are kept: active, wanted, failed, failed in place. */
const IN_USE = 4;
/** Environments of revisions that are kept (decision 0029), and those in use. */
const KEPT_ENVIRONMENTS = 10;

function replicasOf(object: UntypedObject): number {
  return (object['spec'] as { replicas?: number } | undefined)?.replicas ?? 0;
}

/** Objects that nothing wants any more. */
export function leftovers(state: ClusterState): string[] {
  const app = state.ManagedDeployment[0]?.metadata.name ?? '';
  const labelled = (label: string) =>
    state.ControllerRevision.filter(({ metadata }) => metadata.labels?.[label] !== undefined);
  const witnesses = labelled(SENTINEL_LABEL).length;
  const stored = labelled(INPUTS_HASH_LABEL).length - witnesses;
  const environments = state.Secret.filter(({ metadata }) => metadata.name.startsWith(`${app}-env-`)).length;
  return [
    ...(stored > KEPT_TEMPLATES + IN_USE ? [`${stored} stored templates`] : []),
    ...(witnesses > 1 ? [`${witnesses} witnesses of Secrets`] : []),
    ...(environments > KEPT_ENVIRONMENTS + IN_USE ? [`${environments} environments`] : []),
    ...(state.ManagedDeployment.length === 1 ? [] : [`${state.ManagedDeployment.length} custom resources`]),
  ];
}

/** Pods of a deployment that is switched off, or of a component beyond the number that is wanted. */
export function surplusPods(state: ClusterState): string[] {
  const wanted = new Map<string, number>();
  for (const workload of [...state.Deployment, ...state.StatefulSet]) {
    const component = workload.metadata.labels?.[LABELS.component] ?? '';
    wanted.set(component, (wanted.get(component) ?? 0) + replicasOf(workload));
  }
  const running = new Map<string, number>();
  for (const { metadata } of state.Pod) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const component = metadata.labels?.[LABELS.component] ?? '';
    running.set(component, (running.get(component) ?? 0) + 1);
  }
  return [...new Set([...wanted.keys(), ...running.keys()])]
    .filter((component) => (wanted.get(component) ?? 0) !== (running.get(component) ?? 0))
    .map(
      (component) =>
        `${component}: ${running.get(component) ?? 0} pods, ${wanted.get(component) ?? 0} wanted`,
    );
}

/**
 * Components whose templates are of another revision than the active one: after a failure all are to be of that one, and
 * none was ever active where what failed is kept to be looked at.
 */
export function otherRevisions(
  state: ClusterState,
  { active_revision_id: active }: WalkDeployment,
): string[] {
  if (active === null) return [];
  return state.Deployment.flatMap((object) => {
    const { template } = object['spec'] as { template: { metadata?: { labels?: Record<string, string> } } };
    const revision = template.metadata?.labels?.[LABELS.revisionId];
    if (revision === undefined || revision === active) return [];
    return [`${object.metadata.name} is of revision ${revision}, active is ${active}`];
  });
}

/** What the API tells of it, own names masked. */
function apiState(deployment: WalkDeployment, state: ClusterState): unknown {
  const masks = replacements(deployment, state.ManagedDeployment[0]?.metadata.name ?? '');
  const { status, conditions, effective_resource_spec: effective, image_version: version, url } = deployment;
  const told = {
    record: recordOf(deployment),
    effective,
    status,
    version,
    url,
    conditions: conditions.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`).sort(),
  };
  return JSON.parse(maskText(canonical(told), masks));
}

export interface Reached {
  readonly deployment: WalkDeployment;
  readonly state: ClusterState;
}

/**
 * Of a record with a database of the user's own only the walked state may have these: data outlives the change to it. Its
 * volume stays, and so do the credentials that open it.
 */
const OUTLIVES = /^(PersistentVolumeClaim\/<app>-db|Secret\/<app>-db(-copy)?)$/;
const OWN_DATABASE = 'DATABASE_URI_CUSTOM';

/** What differs between the state that a walk has reached and the one that was reached directly. */
export function differencesOf(walked: Reached, direct: Reached): string[] {
  const mine = comparable(walked.state, walked.deployment);
  const theirs = comparable(direct.state, direct.deployment);
  const ownDatabase = walked.deployment.secrets.some(({ name }) => name === OWN_DATABASE);
  return [
    ...diffObjects(mine, theirs, (name) => ownDatabase && OUTLIVES.test(name) && mine.has(name)),
    ...differences(
      apiState(walked.deployment, walked.state),
      apiState(direct.deployment, direct.state),
      'API',
    ),
  ];
}
