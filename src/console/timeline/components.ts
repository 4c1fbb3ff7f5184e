import type { ClusterObject, Revision } from '../api/types.ts';

/** How far each component of a revision is, from the objects in the cluster. The cluster does not say when a pod became ready. */

export interface ComponentProgress {
  readonly component: string;
  readonly state: ClusterObject['state'];
  /** When the ReplicaSet of the revision was created; null: not known. */
  readonly beganAt: string | null;
  /** When the last container of its pods began to run; null: not known, or some do not run. */
  readonly runningAt: string | null;
  readonly pods: number;
  readonly ready: number;
  /** Whether the pods existed before the revision, so that it did not replace them. */
  readonly isKept: boolean;
}

/** The first run of a container. The time of a later run says nothing about the rollout. */
function startOf(pod: ClusterObject): string | null {
  const containers = (pod.pod?.containers ?? []).filter(({ init }) => !init);
  const starts = containers.map(({ started_at: at, restarts }) => (restarts === 0 ? (at ?? null) : null));
  return lastOf(starts);
}

/** The latest of some times; null: one of them is not known, or there are no times. */
function lastOf(times: readonly (string | null)[]): string | null {
  const known = times.flatMap((time) => time ?? []);
  if (known.length < times.length) return null;
  return known.toSorted((a, b) => Date.parse(a) - Date.parse(b)).at(-1) ?? null;
}

/** Kubernetes omits parts of a second. */
const wholeSecond = (at: string): number => Math.floor(Date.parse(at) / 1000);

function progressOf(
  { component, state, created_at: beganAt }: ClusterObject,
  pods: readonly ClusterObject[],
  revision: Revision,
): ComponentProgress {
  const own = pods.filter((pod) => pod.component === component);
  return {
    component: component ?? '',
    state,
    beganAt,
    runningAt: lastOf(own.map(startOf)),
    pods: own.length,
    ready: own.filter((pod) => pod.state === 'ready').length,
    isKept: beganAt !== null && wholeSecond(beganAt) < wholeSecond(revision.created_at),
  };
}

/** The components that run the revision, by name. Empty: no object of the revision exists now. */
export function componentsOf(objects: readonly ClusterObject[], revision: Revision): ComponentProgress[] {
  const own = objects.filter(({ revision_id: id, component }) => id === revision.id && component !== null);
  const pods = own.filter(({ kind }) => kind === 'Pod');
  const sets = own
    .filter(({ kind }) => kind === 'ReplicaSet')
    .toSorted((a, b) => ((a.created_at ?? '') < (b.created_at ?? '') ? -1 : 1));
  const newest = new Map(sets.map((each) => [each.component, each]));
  return [...newest.values()]
    .map((each) => progressOf(each, pods, revision))
    .toSorted((a, b) => (a.component < b.component ? -1 : 1));
}

/** Whether each component that runs the revision is ready. */
export const areReady = (objects: readonly ClusterObject[], revision: Revision): boolean =>
  componentsOf(objects, revision).every(({ state }) => state === 'ready');
