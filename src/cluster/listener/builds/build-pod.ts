import { ANNOTATIONS, LABELS } from '../../../contract/resource/names.ts';
import { BUILD_STEP_NAMES, type BuildStep } from '../../../domain/builds/build.ts';
import { UUID_PATTERN } from '../../../domain/core/id.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { hasEnded } from '../../kube/client/object.ts';

/** The pod of a build attempt, reduced to what its logs need. Pure. */

interface ContainerStatus {
  readonly name: string;
  readonly state?: { readonly running?: object; readonly terminated?: object };
}

/** A pod as the API server returns it. */
export interface BuildPod extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

/** The build that a pod belongs to; null: its labels do not name a build. */
export function buildOf({ metadata }: BuildPod): { revisionId: string; attempt: number } | null {
  const { labels = {}, annotations = {} } = metadata;
  const revisionId = labels[LABELS.revisionId] ?? '';
  const attempt = Number(annotations[ANNOTATIONS.buildAttempt]);
  if (!UUID_PATTERN.test(revisionId) || !Number.isInteger(attempt) || attempt < 1) return null;
  return { revisionId, attempt };
}

export function podHasEnded(pod: BuildPod): boolean {
  return hasEnded(pod) || pod.metadata.deletionTimestamp !== undefined;
}

/** `ended`: the log is complete. `absent`: the step has no log yet. */
export type StepLog = 'absent' | 'grows' | 'ended';

export function stepLog({ status }: BuildPod, step: BuildStep): StepLog {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const { state } = all.find(({ name }) => name === step) ?? {};
  if (state?.terminated !== undefined) return 'ended';
  return state?.running === undefined ? 'absent' : 'grows';
}

/** The next step; undefined: this is the last step. */
export function stepAfter(step: BuildStep): BuildStep | undefined {
  return BUILD_STEP_NAMES[BUILD_STEP_NAMES.indexOf(step) + 1];
}

/** The part of a pod that the cache keeps. */
export function trimBuildPod(pod: BuildPod): BuildPod {
  const { name, namespace, uid, labels, annotations, deletionTimestamp, resourceVersion } = pod.metadata;
  const attempt = annotations?.[ANNOTATIONS.buildAttempt];
  return {
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(labels === undefined ? {} : { labels }),
      ...(attempt === undefined ? {} : { annotations: { [ANNOTATIONS.buildAttempt]: attempt } }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    ...(pod.status === undefined ? {} : { status: pod.status }),
  };
}
