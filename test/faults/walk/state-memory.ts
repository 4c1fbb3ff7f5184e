/** Remembers the objects and pod templates of each record, which must return with the record. */
import { recordOf, recordText, type WalkDeployment } from './answers.ts';
import { type ClusterState, comparable, podTemplates } from './cluster-state.ts';
import { differences, diffObjects } from './diff.ts';
import type { Issue } from './effects.ts';

/**
 * Objects that depend only on the record (except the number of pods that an autoscaler sets). Volumes and credentials may
 * remain from earlier records, so of Secrets only the environment is compared.
 */
const REMEMBERED =
  /^((Deployment|Service|StatefulSet|HorizontalPodAutoscaler|PodDisruptionBudget|Ingress|NetworkPolicy|ServiceAccount)\/|Secret\/<app>-env$)/;

function remembered(state: ClusterState, deployment: WalkDeployment): ReadonlyMap<string, string> {
  const existing = Object.fromEntries(
    Object.entries(state).map(([kind, objects]) => [
      kind,
      objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    ]),
  ) as unknown as ClusterState;
  return new Map([...comparable(existing, deployment)].filter(([name]) => REMEMBERED.test(name)));
}

/** Remembers the objects of each record of a deployment. When a record returns, its objects must be equal. */
export class ObjectMemory {
  readonly #objects = new Map<string, ReadonlyMap<string, string>>();

  /** Number of records that returned. */
  returned = 0;

  /** Differences from the objects when this record was last reached. */
  differences(state: ClusterState, deployment: WalkDeployment): string[] {
    const before = this.#objects.get(recordText(recordOf(deployment)));
    return before === undefined ? [] : diffObjects(remembered(state, deployment), before, () => false);
  }

  /** Stores the objects of the current record. */
  remember(state: ClusterState, deployment: WalkDeployment): void {
    const record = recordText(recordOf(deployment));
    if (this.#objects.has(record)) this.returned += 1;
    this.#objects.set(record, remembered(state, deployment));
  }
}

/** Remembers the pod templates of each record of a deployment. When a record returns, its templates must be equal. */
export class TemplateMemory {
  /** By record: the templates of the components, with masked names. */
  readonly #texts = new Map<string, Readonly<Record<string, string>>>();
  /** By revision and record: the template hashes. */
  readonly #hashes = new Map<string, string>();

  /** Differences from the templates when this record was last reached. */
  issues(state: ClusterState, deployment: WalkDeployment): Issue[] {
    const { texts, hashes } = podTemplates(state, deployment);
    const record = recordText({ ...recordOf(deployment), customUrl: null });
    return [...this.#textIssues(record, texts), ...this.#hashIssues(record, deployment, hashes)];
  }

  #textIssues(record: string, texts: Readonly<Record<string, string>>): Issue[] {
    const before = this.#texts.get(record);
    this.#texts.set(record, texts);
    if (before === undefined) return [];
    const components = [...new Set([...Object.keys(before), ...Object.keys(texts)])];
    const parsed = (text: string | undefined) => (text === undefined ? undefined : JSON.parse(text));
    const diff = components.flatMap((component) =>
      differences(parsed(texts[component]), parsed(before[component]), component),
    );
    return diff.length === 0
      ? []
      : [{ message: 'the record is equal to an earlier one, but its pod templates are not', diff }];
  }

  /** For the same revision, hashes must be equal, so that no pods are replaced needlessly. */
  #hashIssues(record: string, { active_revision_id: active }: WalkDeployment, hashes: object): Issue[] {
    const key = `${active} ${record}`;
    const now = JSON.stringify(hashes);
    const before = this.#hashes.get(key);
    this.#hashes.set(key, now);
    if (before === undefined || before === now) return [];
    return [{ message: `other template hashes of the same revision: ${now}, before ${before}`, diff: [] }];
  }
}
