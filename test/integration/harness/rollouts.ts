/** Observes rollouts over one connection, so that a test can watch many of them at the same time. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import { createKubeClient, type KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { ObservedPod } from '../../../src/cluster/operator/observed.ts';
import { isReadyPod } from '../../../src/cluster/operator/pods/pod-trouble.ts';
import type { ManagedDeploymentStatus } from '../../../src/contract/resource/managed-deployment.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { environment } from './environment.ts';
import { condition } from './operator.ts';

const WAIT_MS = 90_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The administrator's client. */
export function adminClient(): Promise<KubeClient> {
  const { kubeconfigPath } = environment();
  return createKubeClient({ kubeconfigPath, userAgent: 'berth-test/admin', requestTimeoutMs: 10_000 });
}

/** A spec without data services of its own: its rollout is all that happens. */
export function appSpec(revision: number, image: string, more: object = {}): object {
  return {
    revision: { id: `r${revision}`, number: revision, image },
    database: { external: true },
    cache: { external: true },
    ...more,
  };
}

/** One ManagedDeployment under test. */
export class App {
  readonly #client: KubeClient;
  readonly namespace: string;
  readonly name: string;

  constructor(client: KubeClient, namespace: string, name: string) {
    this.#client = client;
    this.namespace = namespace;
    this.name = name;
  }

  async apply(spec: object): Promise<void> {
    const { namespace, name } = this;
    const metadata = { name, namespace };
    const object = { apiVersion: 'berth.dev/v1alpha1', kind: 'ManagedDeployment', metadata, spec };
    await this.#client.apply(object, { fieldManager: 'test' });
  }

  async status(): Promise<ManagedDeploymentStatus & { generation: number }> {
    const found = await this.#client.get(RESOURCES.ManagedDeployment, this);
    const generation = found.metadata.generation ?? 0;
    return { ...(found['status'] as ManagedDeploymentStatus | undefined), generation };
  }

  /** Waits until the status, of the latest change, says so. */
  async until(what: string, check: (status: ManagedDeploymentStatus) => boolean) {
    let last: unknown;
    const poll = async () => {
      const status = await this.status();
      last = status;
      return status.observedGeneration === status.generation && check(status) ? status : undefined;
    };
    try {
      const options = { timeoutMs: WAIT_MS, intervalMs: 200 };
      return await waitFor(`${this.name} to be ${what}`, poll, options);
    } catch (error) {
      throw new Error(`${String(error)}; last status: ${JSON.stringify(last)}`, { cause: error });
    }
  }

  ready(): Promise<ManagedDeploymentStatus> {
    return this.until('ready', (status) => condition(status, 'Ready') === 'True Converged');
  }

  rolledBack(): Promise<ManagedDeploymentStatus> {
    return this.until('rolled back', (status) => condition(status, 'Progressing') === 'False RolledBack');
  }

  list(resource: (typeof RESOURCES)[keyof typeof RESOURCES], selector = ''): Promise<UntypedObject[]> {
    const labelSelector = [`${LABELS.instance}=${this.name}`, selector].filter(Boolean).join(',');
    return this.#client
      .listAll(resource, { namespace: this.namespace, labelSelector })
      .then(({ items }) => items);
  }

  /** What runs, as the cluster has it: of each Deployment its template, its ReplicaSets with pods, its count. */
  async workloads(): Promise<
    Record<string, { template: unknown; replicas: unknown; replicaSets: string[] }>
  > {
    const [deployments, sets] = await Promise.all([
      this.list(RESOURCES.Deployment),
      this.list(RESOURCES.ReplicaSet),
    ]);
    return Object.fromEntries(
      deployments.map(({ metadata, ...rest }) => {
        const spec = rest['spec'] as { template: unknown; replicas: unknown };
        const running = sets.filter(
          (set) =>
            set.metadata.ownerReferences?.[0]?.uid === metadata.uid &&
            (set['spec'] as { replicas: number }).replicas > 0,
        );
        const replicaSets = running.map((set) => set.metadata.name).sort();
        return [metadata.name, { template: spec.template, replicas: spec.replicas, replicaSets }];
      }),
    );
  }

  /** Reasons of the Events of the resource with their counts, whatever their messages. */
  async events(reason: string): Promise<number> {
    const { items } = await this.#client.listAll(RESOURCES.Event, {
      namespace: this.namespace,
      fieldSelector: `involvedObject.kind=ManagedDeployment,involvedObject.name=${this.name},reason=${reason}`,
    });
    return items.reduce((sum, item) => sum + Number(item['count'] ?? 1), 0);
  }

  /** Watches the available pods of one revision (null: of any), each change of them, from now on. */
  async watchServing(revision: string | null, components: Record<string, number>): Promise<Serving> {
    const watch = new Serving(this.#client, this, revision, components);
    await watch.start();
    return watch;
  }
}

/** Sees every moment in which fewer pods of a revision are available than are wanted. */
export class Serving {
  readonly #reflector: Reflector<UntypedObject>;
  readonly #components: Record<string, number>;
  readonly #revision: string | null;
  #watching = false;
  readonly shortages: string[] = [];

  constructor(client: KubeClient, app: App, revision: string | null, components: Record<string, number>) {
    this.#revision = revision;
    this.#components = components;
    this.#reflector = new Reflector<UntypedObject>({
      client,
      resource: RESOURCES.Pod,
      namespace: app.namespace,
      labelSelector: `${LABELS.instance}=${app.name}`,
      logger: silent,
    });
    const observe = () => this.#observe();
    this.#reflector.addHandlers({ added: observe, updated: observe, deleted: observe });
  }

  async start(): Promise<void> {
    this.#reflector.start();
    await this.#reflector.waitForSync(AbortSignal.timeout(WAIT_MS));
    this.#watching = true;
    this.#observe();
  }

  #observe(): void {
    if (!this.#watching) return;
    for (const [component, wanted] of Object.entries(this.#components)) {
      const available = this.#reflector.store.list().filter(({ metadata, ...pod }) => {
        const isOf =
          (this.#revision === null || metadata.labels?.[LABELS.revisionId] === this.#revision) &&
          metadata.labels?.[LABELS.component] === component;
        const isThere = metadata.deletionTimestamp === undefined;
        return isOf && isThere && isReadyPod({ metadata, ...pod } as ObservedPod);
      }).length;
      if (available < wanted) this.shortages.push(`${component}: ${available} of ${wanted}`);
    }
  }

  async stop(): Promise<readonly string[]> {
    await this.#reflector.stop();
    return this.shortages;
  }
}
