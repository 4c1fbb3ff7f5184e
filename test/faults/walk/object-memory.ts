import { recordOf, recordText, type WalkDeployment } from './answers.ts';
import { type ClusterState, comparable } from './cluster-state.ts';
import { diffObjects } from './diff.ts';

/**
 * What is made of the record alone; of a Deployment that is autoscaled all but the number of its pods. Volumes and
 * credentials outlive what they were for: of Secrets it is the environment.
 */
const REMEMBERED =
  /^((Deployment|Service|StatefulSet|HorizontalPodAutoscaler|PodDisruptionBudget|Ingress|NetworkPolicy|ServiceAccount)\/|Secret\/<app>-env$)/;

function remembered(state: ClusterState, deployment: WalkDeployment): ReadonlyMap<string, string> {
  const there = Object.fromEntries(
    Object.entries(state).map(([kind, objects]) => [
      kind,
      objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    ]),
  ) as unknown as ClusterState;
  return new Map([...comparable(there, deployment)].filter(([name]) => REMEMBERED.test(name)));
}

/** Remembers which objects each record of one deployment came to: a record that comes back has them again, and no other. */
export class ObjectMemory {
  readonly #objects = new Map<string, ReadonlyMap<string, string>>();

  /** How often a record came back. */
  returned = 0;

  /** What is not as it was when this record was last reached. */
  differences(state: ClusterState, deployment: WalkDeployment): string[] {
    const before = this.#objects.get(recordText(recordOf(deployment)));
    return before === undefined ? [] : diffObjects(remembered(state, deployment), before, () => false);
  }

  remember(state: ClusterState, deployment: WalkDeployment): void {
    const record = recordText(recordOf(deployment));
    if (this.#objects.has(record)) this.returned += 1;
    this.#objects.set(record, remembered(state, deployment));
  }
}
