/** Remembers the objects and pod templates of each record, which must return with the record. */
import { recordOf, recordText, type WalkDeployment } from './answers.ts';
import { type ClusterState, comparable, podTemplates } from './cluster-state.ts';
import { differences, diffObjects } from './diff.ts';
import type { Issue } from './effects.ts';

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

/** Remembers which pod templates each record of one deployment came to: one that comes back has them again. */
export class TemplateMemory {
  /** By record: templates by component, own names masked. */
  readonly #texts = new Map<string, Readonly<Record<string, string>>>();
  /** By revision and record: the hashes that pods carry. */
  readonly #hashes = new Map<string, string>();

  /** What is not as it was when this record was last reached. */
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
    return diff.length === 0 ? [] : [{ message: 'the record is as before, its pod templates are not', diff }];
  }

  /** Of one revision the very same, byte for byte: pods that need not end do not. */
  #hashIssues(record: string, { active_revision_id: active }: WalkDeployment, hashes: object): Issue[] {
    const key = `${active} ${record}`;
    const now = JSON.stringify(hashes);
    const before = this.#hashes.get(key);
    this.#hashes.set(key, now);
    if (before === undefined || before === now) return [];
    return [{ message: `other template hashes of the same revision: ${now}, before ${before}`, diff: [] }];
  }
}
