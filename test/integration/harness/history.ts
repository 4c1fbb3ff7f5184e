/** Each change of the pods, workloads and statuses of deployments, recorded by watches without sampling. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { ObservedPod } from '../../../src/cluster/operator/observed.ts';
import { isReadyPod } from '../../../src/cluster/operator/pods/pod-trouble.ts';
import type { ManagedDeploymentStatus } from '../../../src/contract/resource/managed-deployment.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { TEMPLATE_HASH_LABEL } from '../../../src/workloads/labels.ts';

const SYNC_MS = 30_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface PodRecord {
  readonly uid: string;
  readonly component: string;
  readonly revisionId: string;
  readonly template: string;
}

/** One deployment, from the first watch event on. */
export class Course {
  /** Each status, in order. */
  readonly statuses: ManagedDeploymentStatus[] = [];
  /** Every pod that ever was. */
  readonly pods = new Map<string, PodRecord>();
  readonly #here = new Map<string, PodRecord & { ready: boolean }>();
  readonly #fewest = new Map<string, number>();
  readonly #replicas = new Map<string, number[]>();
  #waiting: (() => void)[] = [];

  /** Numbers of revisions that were active, in order, without repetitions. */
  get active(): number[] {
    return changes(this.statuses.map(({ activeRevision }) => activeRevision?.number));
  }

  /** Numbers of revisions that were seen rolling, in order, without repetitions. */
  get rolled(): number[] {
    return changes(this.statuses.map(({ rollout }) => rollout?.number));
  }

  get failed(): number[] {
    return changes(this.statuses.map(({ failedRevision }) => failedRevision?.number));
  }

  /** Pods that are there and not ending. */
  present(component: string): PodRecord[] {
    return [...this.#here.values()].filter((pod) => pod.component === component);
  }

  /** Fewest ready pods of a component, at any moment since `mark`. */
  fewest(component: string): number {
    return this.#fewest.get(component) ?? this.ready(component);
  }

  /** Numbers that `spec.replicas` of a component had since `mark`, in order. */
  replicas(component: string): number[] {
    return this.#replicas.get(component) ?? [];
  }

  /** Restarts the count. */
  mark(): void {
    this.#fewest.clear();
    for (const [component, numbers] of this.#replicas) this.#replicas.set(component, numbers.slice(-1));
  }

  /** Resolves with the first status, of now or later, that satisfies `check`. */
  async until(check: (status: ManagedDeploymentStatus) => boolean): Promise<ManagedDeploymentStatus> {
    // Several may come at once, and one that is there for a moment counts too.
    let from = Math.max(0, this.statuses.length - 1);
    for (;;) {
      const found = this.statuses.slice(from).find(check);
      if (found !== undefined) return found;
      from = this.statuses.length;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  see(kind: string, object: UntypedObject, gone: boolean): void {
    if (kind === 'Pod') this.#seePod(object, gone);
    else if (kind === 'Deployment' && !gone) this.#seeReplicas(object);
    else if (kind === 'ManagedDeployment' && !gone) this.#seeStatus(object);
  }

  #seeStatus(object: UntypedObject): void {
    this.statuses.push((object['status'] ?? {}) as ManagedDeploymentStatus);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #seeReplicas({ metadata, ...rest }: UntypedObject): void {
    const component = metadata.labels?.[LABELS.component] ?? '';
    const { replicas } = rest['spec'] as { replicas: number };
    const numbers = this.#replicas.get(component) ?? [];
    if (numbers.at(-1) !== replicas) this.#replicas.set(component, [...numbers, replicas]);
  }

  #seePod(object: UntypedObject, gone: boolean): void {
    const { uid = '', labels = {}, deletionTimestamp } = object.metadata;
    const pod: PodRecord = {
      uid,
      component: labels[LABELS.component] ?? '',
      revisionId: labels[LABELS.revisionId] ?? '',
      template: labels[TEMPLATE_HASH_LABEL] ?? '',
    };
    this.pods.set(uid, pod);
    if (gone || deletionTimestamp !== undefined) this.#here.delete(uid);
    else this.#here.set(uid, { ...pod, ready: isReadyPod(object as ObservedPod) });
    this.#fewest.set(pod.component, Math.min(this.fewest(pod.component), this.ready(pod.component)));
  }

  /** Ready pods of a component, now. */
  ready(component: string): number {
    return [...this.#here.values()].filter((pod) => pod.component === component && pod.ready).length;
  }
}

/** Without what is missing and what only repeats the one before. */
function changes(numbers: readonly (number | undefined)[]): number[] {
  return numbers
    .filter((number) => number !== undefined)
    .filter((number, index, all) => number !== all[index - 1]);
}

/** Watches all deployments of a namespace. */
export class History {
  readonly #reflectors: Reflector<UntypedObject>[];
  readonly #courses = new Map<string, Course>();

  private constructor(client: KubeClient, namespace: string) {
    this.#reflectors = [RESOURCES.ManagedDeployment, RESOURCES.Deployment, RESOURCES.Pod].map(
      (resource) => new Reflector<UntypedObject>({ client, resource, namespace, logger: silent }),
    );
    for (const reflector of this.#reflectors) {
      const see = (object: UntypedObject, gone = false) => {
        const id = object.metadata.labels?.[LABELS.deploymentId];
        if (id !== undefined) this.of(id).see(reflector.resource.kind, object, gone);
      };
      reflector.addHandlers({
        added: (object) => see(object),
        updated: (object) => see(object),
        deleted: (object) => see(object, true),
      });
    }
  }

  static async start(client: KubeClient, namespace: string): Promise<History> {
    const history = new History(client, namespace);
    for (const reflector of history.#reflectors) reflector.start();
    const signal = AbortSignal.timeout(SYNC_MS);
    await Promise.all(history.#reflectors.map((reflector) => reflector.waitForSync(signal)));
    return history;
  }

  /** @param id of the deployment, as the hub has it */
  of(id: string): Course {
    const course = this.#courses.get(id) ?? new Course();
    this.#courses.set(id, course);
    return course;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }
}
