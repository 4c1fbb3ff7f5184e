import type { KubeObject } from '../../../../src/cluster/kube/client/object.ts';
import { keyOf } from '../../../../src/cluster/kube/client/object.ts';
import type { ReconcileOutcome } from '../../../../src/cluster/kube/queue/controller.ts';
import { createReconciler } from '../../../../src/cluster/operator/reconcile.ts';
import type { ReconcilerOptions } from '../../../../src/cluster/operator/reconciler-options.ts';
import { readTask, type TaskResource } from '../../../../src/cluster/operator/tasks/observed-task.ts';
import type { RenderConfig } from '../../../../src/contract/render/render-config.ts';
import type { ManagedDeploymentStatus } from '../../../../src/contract/resource/managed-deployment.ts';
import { managedDeploymentSpecSchema } from '../../../../src/contract/resource/managed-deployment.ts';
import type { Logger } from '../../../../src/domain/core/logger.ts';
import { type Policy, resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { SimulatedCluster } from './simulated-cluster.ts';

export const NAMESPACE = 'shop';
export const KEY = `${NAMESPACE}/web`;
export const RESOURCE_ID = `ManagedDeployment/${KEY}`;

export const CONFIG: RenderConfig = {
  hosting: 'self_hosted',
  podSecurity: 'baseline',
  databaseImage: 'postgres:18',
  cacheImage: 'valkey:8',
  healthPath: null,
  progressDeadlineSeconds: 600,
  routing: { mode: 'ingress', className: null, tlsIssuer: null },
  otlpEndpoint: null,
  networkIsolation: false,
  storageClass: null,
  kubernetesVersion: '1.36',
};

export const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type SpecInput = Parameters<typeof managedDeploymentSpecSchema.parse>[0];

/** A spec as it may be written by hand, at least `{ revision: { image } }`. */
export type Spec = {
  revision: { image?: string; number?: number; id?: string; envSecretName?: string };
} & Record<string, unknown>;

export const scaled = (min: number, max: number) => ({ scale: { min, max } });

/** A simulated cluster with one ManagedDeployment and an operator that reconciles it. */
export class World {
  readonly cluster = new SimulatedCluster();
  now = Date.parse('2026-01-01T00:00:00Z');
  /** How far the wall clock was set back, in ms. */
  setBackBy = 0;
  config: RenderConfig = CONFIG;
  policy: Policy = resolvePolicy('self_hosted');
  mayAct = true;
  /** Host of the hub from the next restart on. */
  ownHost: string | undefined;
  platformHosts: readonly string[] = [];
  appDomain: string | null = null;
  /** Namespace of Berth itself from the next restart on. */
  ownNamespace: string | undefined;
  /** Lookups of additional hosts from the next restart on. */
  lookups: ReconcilerOptions['lookups'];
  /** Resolver of image digests from the next restart on. */
  imageResolver: ReconcilerOptions['images'];
  /** The tasks of the deployment; null: they are not known yet. */
  tasksOf: () => TaskResource[] | null = () => this.#tasks().filter(({ spec }) => spec.deployment === 'web');
  /** Whether the cluster lacks the definition of tasks. */
  lacksTasks = false;
  readonly events: { type: string; reason: string; message: string }[] = [];
  #reconcile = this.#operator();

  constructor(spec: SpecInput) {
    this.cluster.put(resource(spec));
  }

  #tasks(): TaskResource[] {
    return this.cluster
      .list('DeploymentTask')
      .map(readTask)
      .filter((task) => task !== null);
  }

  #operator(): (key: string, signal: AbortSignal) => Promise<ReconcileOutcome> {
    return createReconciler({
      view: this.cluster.view,
      client: this.cluster.client,
      config: this.config,
      policy: this.policy,
      events: { record: (_object, type, reason, message) => this.events.push({ type, reason, message }) },
      clock: { now: () => this.now, date: () => new Date(this.now - this.setBackBy) },
      logger: silent,
      mayAct: () => this.mayAct,
      ownHost: this.ownHost,
      platformHosts: this.platformHosts,
      appDomain: this.appDomain,
      ownNamespace: this.ownNamespace,
      lookups: this.lookups,
      releases: {
        tasksOf: () => this.tasksOf(),
        isMissing: () => this.lacksTasks,
        task: (key) => this.#tasks().find((task) => keyOf(task) === key),
      },
      ...(this.imageResolver === undefined ? {} : { images: this.imageResolver }),
    });
  }

  /** Starts a new operator process with empty memory. */
  restart(config: RenderConfig = this.config): void {
    this.config = config;
    this.#reconcile = this.#operator();
  }

  reconcile(): Promise<ReconcileOutcome> {
    return this.#reconcile(KEY, new AbortController().signal);
  }

  /** Reconciles once. @returns the writes */
  async reconcileOnce(): Promise<string[]> {
    this.cluster.writes = [];
    await this.reconcile();
    return this.cluster.writes.map(({ verb, id }) => `${verb} ${id}`);
  }

  /** Reconciles and advances time and the controllers of Kubernetes until a reconcile writes nothing. @returns all writes */
  async converge(rounds = 40): Promise<string[]> {
    const writes: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = this.cluster.ids().join();
      const written = await this.reconcileOnce().catch(() => ['failed']);
      writes.push(...written);
      this.cluster.settle();
      this.now += 2_000;
      if (
        written.length === 0 &&
        before === this.cluster.ids().join() &&
        (await this.reconcileOnce()).length === 0
      )
        return writes;
    }
    throw new Error(`did not converge: ${writes.slice(-10).join(', ')}`);
  }

  change(spec: SpecInput): void {
    this.cluster.edit(RESOURCE_ID, (object) => {
      object['spec'] = managedDeploymentSpecSchema.parse(spec);
    });
  }

  get status(): ManagedDeploymentStatus {
    return (this.cluster.get(RESOURCE_ID)?.['status'] ?? {}) as ManagedDeploymentStatus;
  }

  /** Status and reason of a condition, such as `True Converged`. */
  condition(type: string): string {
    const found = this.status.conditions?.find((condition) => condition.type === type);
    return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
  }

  replicas(component: string): number | undefined {
    const object = this.cluster.get(`Deployment/${NAMESPACE}/web-${component}`);
    return (object?.['spec'] as { replicas?: number } | undefined)?.replicas;
  }

  images(component: string): string[] {
    const object = this.cluster.get(`Deployment/${NAMESPACE}/web-${component}`);
    const spec = object?.['spec'] as { template: { spec: { containers: { image: string }[] } } } | undefined;
    return spec?.template.spec.containers.map(({ image }) => image) ?? [];
  }
}

export function resource(spec: SpecInput): KubeObject {
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: 'web', namespace: NAMESPACE, uid: 'b1f0c7de-0000-4000-8000-000000000001' },
    spec: managedDeploymentSpecSchema.parse(spec),
  } as KubeObject;
}

/** A converged world. */
export async function settled(spec: SpecInput): Promise<World> {
  const world = new World(spec);
  await world.converge();
  world.cluster.writes = [];
  return world;
}

/** Spec of revision `number` of a deployment of the hub. */
export const revised = (image: string, number: number, more: object = {}): Spec => ({
  deploymentId: '0197a000-0000-7000-8000-00000000abcd',
  revision: { id: `0197a000-0000-7000-8000-00000000000${number}`, number, image },
  ...more,
});

/** The message of a condition; empty if it does not exist. */
export const message = (world: World, type: string): string =>
  world.status.conditions?.find((condition) => condition.type === type)?.message ?? '';

/** Reconciles, then runs the controllers and advances two seconds, for each step. @returns all writes */
export async function steps(world: World, count: number): Promise<string[]> {
  const writes: string[] = [];
  for (let step = 0; step < count; step += 1) {
    writes.push(...(await world.reconcileOnce()));
    world.cluster.settle();
    world.now += 2_000;
  }
  return writes;
}

/** Pod template of a component's Deployment. */
export const template = (world: World, component: string): unknown => {
  const object = world.cluster.get(`Deployment/${NAMESPACE}/web-${component}`);
  return (object?.['spec'] as { template: unknown } | undefined)?.template;
};
