/** What a bench sees of deployments in the cluster, by watches: when which object came, and how it is now. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { controllerOf, type UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { MADE_KINDS } from '../../faults/kinds.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const SYNC_MS = 60_000;

/** A deployment as the cluster has it. */
export interface SeenApp {
  /** Of its custom resource. */
  readonly name: string;
  /** Those that are there, by kind and name. */
  readonly objects: ReadonlyMap<string, UntypedObject>;
}

/** @param at performance.now() of its arrival */
export type Look = (app: SeenApp, object: UntypedObject, at: number) => void;

function instanceOf(object: UntypedObject): string | undefined {
  const owner = controllerOf(object);
  if (object.kind === RESOURCES.ManagedDeployment.kind) return object.metadata.name;
  // Those of the cluster's own controllers, such as the revisions of a StatefulSet, are not ours.
  if (owner !== undefined && owner.kind !== RESOURCES.ManagedDeployment.kind) return undefined;
  return object.metadata.labels?.[LABELS.instance] ?? owner?.name;
}

export class Apps implements AsyncDisposable {
  readonly #reflectors: readonly Reflector<UntypedObject>[];
  readonly #apps = new Map<string, { name: string; objects: Map<string, UntypedObject> }>();
  readonly #looks = new Set<Look>();
  /** Of those that still wait for something. */
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

  /** Watches a namespace; resolves when it is known what is there. */
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

  /** Deployments of which something is there. */
  get size(): number {
    return this.#apps.size;
  }

  all(): SeenApp[] {
    return [...this.#apps.values()];
  }

  /** Called with every event from now on. @returns ends it */
  follow(look: Look): () => void {
    this.#looks.add(look);
    return () => this.#looks.delete(look);
  }

  /**
   * Resolves with the time of the first event from now on for which `check` holds.
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
        reject(new Error(`failed to wait for ${what}: not within ${timeoutMs / 1000} s`));
      }, timeoutMs);
      this.#timers.add(timer);
    });
  }

  /** What is still waited for never comes then: whoever stops it has failed otherwise. */
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
    this.#tell(app, object);
  }

  #gone(object: UntypedObject): void {
    const name = instanceOf(object);
    const app = name === undefined ? undefined : this.#apps.get(name);
    if (app === undefined) return;
    app.objects.delete(`${object.kind}/${object.metadata.name}`);
    if (app.objects.size === 0) this.#apps.delete(app.name);
    this.#tell(app, object);
  }

  #tell(app: SeenApp, object: UntypedObject): void {
    const at = performance.now();
    for (const look of [...this.#looks]) look(app, object, at);
  }
}

export const resourceOf = ({ name, objects }: SeenApp) =>
  objects.get(`${RESOURCES.ManagedDeployment.kind}/${name}`) as ManagedDeployment | undefined;

/** What the hub wanted last is there, as the status says: it serves, or nothing of it runs where it is switched off. */
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

/** The Deployment of the part that answers requests. */
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

/** Every pod of a Deployment or StatefulSet is of its present template, and available. */
export function isAvailable(object: UntypedObject): boolean {
  const { spec, status } = object as UntypedObject & Replicas;
  const wanted = spec?.replicas ?? 1;
  return (
    status?.observedGeneration === object.metadata.generation &&
    (status?.updatedReplicas ?? 0) === wanted &&
    (status?.replicas ?? 0) === wanted &&
    (status?.availableReplicas ?? 0) === wanted
  );
}
