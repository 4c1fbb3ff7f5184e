/** Follows the objects of deployments by watches: when an object was seen, and its current state. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { controllerOf, type UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { MADE_KINDS } from '../../faults/kinds.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const SYNC_MS = 60_000;

/** The objects of one deployment in the cluster. */
export interface SeenApp {
  /** Name of the custom resource. */
  readonly name: string;
  /** Existing objects, by kind and name. */
  readonly objects: ReadonlyMap<string, UntypedObject>;
}

/** Called for each event. @param at performance.now() when the event arrived */
export type EventHandler = (app: SeenApp, object: UntypedObject, at: number) => void;

function instanceOf(object: UntypedObject): string | undefined {
  const owner = controllerOf(object);
  if (object.kind === RESOURCES.ManagedDeployment.kind) return object.metadata.name;
  // Objects of Kubernetes' own controllers, such as revisions of a StatefulSet, do not count.
  if (owner !== undefined && owner.kind !== RESOURCES.ManagedDeployment.kind) return undefined;
  return object.metadata.labels?.[LABELS.instance] ?? owner?.name;
}

export class Apps implements AsyncDisposable {
  readonly #reflectors: readonly Reflector<UntypedObject>[];
  readonly #apps = new Map<string, { name: string; objects: Map<string, UntypedObject> }>();
  readonly #handlers = new Set<EventHandler>();
  /** Timeouts of pending calls of `until`. */
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(client: KubeClient, namespace: string, kinds: readonly Resource[]) {
    this.#reflectors = kinds.map(
      (resource) => new Reflector<UntypedObject>({ client, resource, namespace, logger: silent }),
    );
    for (const reflector of this.#reflectors)
      reflector.addHandlers({
        added: (object) => this.#seen(object),
        updated: (object) => this.#seen(object),
        deleted: (object) => this.#gone(object),
      });
  }

  /** Watches a namespace. Resolves when the existing objects are known. */
  static async start(client: KubeClient, namespace: string, kinds = MADE_KINDS): Promise<Apps> {
    const apps = new Apps(client, namespace, kinds);
    for (const reflector of apps.#reflectors) reflector.start();
    const signal = AbortSignal.timeout(SYNC_MS);
    try {
      await Promise.all(apps.#reflectors.map((reflector) => reflector.waitForSync(signal)));
    } catch (error) {
      await apps.stop();
      throw error;
    }
    return apps;
  }

  /** Number of deployments with at least one object. */
  get size(): number {
    return this.#apps.size;
  }

  all(): SeenApp[] {
    return [...this.#apps.values()];
  }

  /** Calls `handler` for every event from now on. Returns a function that ends this. */
  follow(handler: EventHandler): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /**
   * Resolves with the time of the next event for which `check` returns true.
   * @throws Error after `timeoutMs`
   */
  until(
    what: string,
    check: (app: SeenApp, object: UntypedObject) => boolean,
    timeoutMs = 60_000,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      const end = this.follow((app, object, at) => {
        if (!check(app, object)) return;
        clearTimeout(timer);
        this.#timers.delete(timer);
        end();
        resolve(at);
      });
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        end();
        reject(new Error(`failed to wait for ${what}: no result within ${timeoutMs / 1000} s`));
      }, timeoutMs);
      this.#timers.add(timer);
    });
  }

  /** Stops the watches. Pending calls of `until` never settle. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #seen(object: UntypedObject): void {
    const name = instanceOf(object);
    if (name === undefined) return;
    const app = this.#apps.get(name) ?? { name, objects: new Map() };
    this.#apps.set(name, app);
    app.objects.set(`${object.kind}/${object.metadata.name}`, object);
    this.#notify(app, object);
  }

  #gone(object: UntypedObject): void {
    const name = instanceOf(object);
    const app = name === undefined ? undefined : this.#apps.get(name);
    if (app === undefined) return;
    app.objects.delete(`${object.kind}/${object.metadata.name}`);
    if (app.objects.size === 0) this.#apps.delete(app.name);
    this.#notify(app, object);
  }

  #notify(app: SeenApp, object: UntypedObject): void {
    const at = performance.now();
    for (const handler of [...this.#handlers]) handler(app, object, at);
  }
}

/** The custom resource of a deployment. */
export const resourceOf = ({ name, objects }: SeenApp) =>
  objects.get(`${RESOURCES.ManagedDeployment.kind}/${name}`) as ManagedDeployment | undefined;

/** Whether the status says that the latest desired state is reached: it serves, or it is switched off and nothing runs. */
export function isSettled(app: SeenApp): boolean {
  const resource = resourceOf(app);
  const { spec, status } = resource ?? {};
  if (spec === undefined || status?.observedGeneration !== resource?.metadata.generation) return false;
  if (spec.suspend) return status?.suspended === true;
  return (
    status?.observedRecordGeneration === spec.recordGeneration &&
    status.activeRevision?.id === spec.revision.id
  );
}

/** Whether it is the Deployment that answers requests. */
export const isApi = ({ kind, metadata }: UntypedObject) =>
  kind === RESOURCES.Deployment.kind && metadata.labels?.[LABELS.component] === 'api';

interface Replicas {
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

/** Whether every pod of a Deployment or StatefulSet has the current template and is available. */
export function isAvailable(object: UntypedObject): boolean {
  const { spec, status } = object as UntypedObject & Replicas;
  const desired = spec?.replicas ?? 1;
  return (
    status?.observedGeneration === object.metadata.generation &&
    (status?.updatedReplicas ?? 0) === desired &&
    (status?.replicas ?? 0) === desired &&
    (status?.availableReplicas ?? 0) === desired
  );
}
