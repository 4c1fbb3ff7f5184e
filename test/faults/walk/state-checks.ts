/** Oracles on the state of one settled deployment. */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { KEPT_TEMPLATES } from '../../../src/cluster/operator/decide/removals.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { INPUTS_HASH_LABEL } from '../../../src/workloads/labels.ts';
import { SENTINEL_LABEL } from '../../../src/workloads/objects/secret-sentinel.ts';
import { canonical, recordOf, type WalkDeployment } from './answers.ts';
import { type ClusterState, comparable, maskText, replacements } from './cluster-state.ts';
import { differences, diffObjects } from './diff.ts';
import { hasNoDatabase } from './effects.ts';

/** Stored templates in use in addition to the kept ones: active, desired, failed, failed in place. */
const IN_USE = 4;
/** Number of environments that are kept (decision 0029). Those in use are added. */
const KEPT_ENVIRONMENTS = 10;

function replicasOf(object: UntypedObject): number {
  return (object['spec'] as { replicas?: number } | undefined)?.replicas ?? 0;
}

/** Objects that are no longer needed. */
export function leftovers(state: ClusterState): string[] {
  const app = state.ManagedDeployment[0]?.metadata.name ?? '';
  const labelled = (label: string) =>
    state.ControllerRevision.filter(({ metadata }) => metadata.labels?.[label] !== undefined);
  const sentinels = labelled(SENTINEL_LABEL).length;
  const stored = labelled(INPUTS_HASH_LABEL).length - sentinels;
  const environments = state.Secret.filter(({ metadata }) => metadata.name.startsWith(`${app}-env-`)).length;
  return [
    ...(stored > KEPT_TEMPLATES + IN_USE ? [`${stored} stored templates`] : []),
    ...(sentinels > 1 ? [`${sentinels} secret sentinels`] : []),
    ...(environments > KEPT_ENVIRONMENTS + IN_USE ? [`${environments} environments`] : []),
    ...(state.ManagedDeployment.length === 1 ? [] : [`${state.ManagedDeployment.length} custom resources`]),
  ];
}

/** Components whose number of pods differs from the desired one. */
export function surplusPods(state: ClusterState): string[] {
  const desired = new Map<string, number>();
  for (const workload of [...state.Deployment, ...state.StatefulSet]) {
    const component = workload.metadata.labels?.[LABELS.component] ?? '';
    desired.set(component, (desired.get(component) ?? 0) + replicasOf(workload));
  }
  const running = new Map<string, number>();
  for (const { metadata } of state.Pod) {
    if (metadata.deletionTimestamp !== undefined) continue;
    const component = metadata.labels?.[LABELS.component] ?? '';
    running.set(component, (running.get(component) ?? 0) + 1);
  }
  return [...new Set([...desired.keys(), ...running.keys()])]
    .filter((component) => (desired.get(component) ?? 0) !== (running.get(component) ?? 0))
    .map(
      (component) =>
        `${component}: ${running.get(component) ?? 0} pods, ${desired.get(component) ?? 0} desired`,
    );
}

/**
 * Components with a template of another revision than the active one. After a failure, all must have the active revision. If
 * no revision was ever active, the failed one is kept for diagnosis.
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

/** The state that the API reports, with masked names. */
function apiState(deployment: WalkDeployment, state: ClusterState): unknown {
  const masks = replacements(deployment, state.ManagedDeployment[0]?.metadata.name ?? '');
  const { status, conditions, effective_resource_spec: effective, image_version: version, url } = deployment;
  const reported = {
    record: recordOf(deployment),
    effective,
    status,
    version,
    url,
    conditions: conditions.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`).sort(),
  };
  return JSON.parse(maskText(canonical(reported), masks));
}

/** A state that a deployment has reached. */
export interface Reached {
  readonly deployment: WalkDeployment;
  readonly state: ClusterState;
}

/**
 * Objects that only the walked state may have if Berth runs no database: the volume of the previous database and its
 * credentials stay.
 */
const REMAINING = /^(PersistentVolumeClaim\/<app>-db|Secret\/<app>-db(-copy)?)$/;

/** The differences between the walked state and that of a fresh deployment. */
export function differencesOf(walked: Reached, direct: Reached): string[] {
  const mine = comparable(walked.state, walked.deployment);
  const theirs = comparable(direct.state, direct.deployment);
  const hasKeptVolume = hasNoDatabase(recordOf(walked.deployment));
  return [
    ...diffObjects(mine, theirs, (name) => hasKeptVolume && REMAINING.test(name) && mine.has(name)),
    ...differences(
      apiState(walked.deployment, walked.state),
      apiState(direct.deployment, direct.state),
      'API',
    ),
  ];
}
