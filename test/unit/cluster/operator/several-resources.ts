import {
  controllerOf,
  type KubeObject,
  type UntypedObject,
} from '../../../../src/cluster/kube/client/object.ts';
import type { ReconcileOutcome } from '../../../../src/cluster/kube/queue/controller.ts';
import { createReconciler } from '../../../../src/cluster/operator/reconcile.ts';
import { type IdentityState, LABELS, MANAGED_BY } from '../../../../src/contract/resource/names.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { labelValue } from '../../../../src/workloads/labels.ts';
import { CONFIG, NAMESPACE, resource, type Spec, silent } from './fixtures.ts';
import { SimulatedCluster } from './simulated-cluster.ts';

type Status = { deploymentStatus?: string; conditions?: { type: string; reason: string; message: string }[] };

/** A simulated cluster with several ManagedDeployments in one namespace, and an operator that reconciles them. */
export class Namespace {
  readonly cluster = new SimulatedCluster();
  now = Date.parse('2026-01-01T00:00:00Z');
  #reconcile = this.#operator();

  #operator() {
    return createReconciler({
      view: this.cluster.view,
      client: this.cluster.client,
      config: CONFIG,
      policy: resolvePolicy('self_hosted'),
      events: { record: () => {} },
      clock: { now: () => this.now, date: () => new Date(this.now) },
      logger: silent,
      mayAct: () => true,
    });
  }

  /** Starts a new operator process with empty memory. */
  restart(): void {
    this.#reconcile = this.#operator();
  }

  /** Writes a resource as a user does, who cannot write its status. */
  create(name: string, spec: Spec, uid: string = crypto.randomUUID()): UntypedObject {
    const object = resource(spec);
    const creationTimestamp = new Date(this.now).toISOString();
    return this.cluster.put({
      ...object,
      metadata: { name, namespace: NAMESPACE, uid, creationTimestamp },
    } as KubeObject);
  }

  /** Deletes as the garbage collector does after a background deletion. */
  delete(name: string): void {
    this.cluster.remove(`ManagedDeployment/${NAMESPACE}/${name}`);
  }

  /** Deletes as keep_workloads does: the owned objects stay without an owner. */
  leave(name: string): void {
    const uid = this.uid(name);
    for (const kind of KINDS) {
      for (const object of this.cluster.list(kind).filter((each) => controllerOf(each)?.uid === uid)) {
        this.cluster.edit(`${kind}/${NAMESPACE}/${object.metadata.name}`, ({ metadata }) => {
          delete metadata.ownerReferences;
        });
      }
    }
    this.delete(name);
  }

  /** The listener's record of a name. */
  record(name: string, id: string, state: IdentityState): void {
    this.cluster.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: `${name}-identity`,
        namespace: NAMESPACE,
        labels: {
          [LABELS.managedBy]: MANAGED_BY,
          [LABELS.deploymentId]: labelValue(id),
          [LABELS.identity]: state,
        },
      },
    });
  }

  get names(): string[] {
    return this.cluster.list('ManagedDeployment').map(({ metadata }) => metadata.name);
  }

  uid(name: string): string {
    return this.cluster.get(`ManagedDeployment/${NAMESPACE}/${name}`)?.metadata.uid ?? '';
  }

  status(name: string): Status {
    return (this.cluster.get(`ManagedDeployment/${NAMESPACE}/${name}`)?.['status'] ?? {}) as Status;
  }

  /** Reason and message of Ready. */
  ready(name: string): string {
    const found = this.status(name).conditions?.find(({ type }) => type === 'Ready');
    return `${found?.reason}: ${found?.message}`;
  }

  reconcileOnce(name: string): Promise<ReconcileOutcome | undefined> {
    return this.#reconcile(`${NAMESPACE}/${name}`, new AbortController().signal).catch(() => undefined);
  }

  /** Runs operator and controllers for each resource in turn. */
  async work(rounds = 12, order: (names: string[]) => string[] = (names) => names): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      for (const name of order(this.names)) await this.reconcileOnce(name);
      this.cluster.settle();
      this.#collectPods();
      this.now += 2_000;
    }
  }

  /** Removes pods whose workload is gone, as the garbage collector does. */
  #collectPods(): void {
    const workloads = ['Deployment', 'StatefulSet'].flatMap((kind) => this.cluster.list(kind));
    const uids = new Set(workloads.map(({ metadata }) => metadata.uid));
    for (const pod of this.cluster.list('Pod')) {
      const [owner] = pod.metadata.ownerReferences ?? [];
      if (owner !== undefined && !uids.has(owner.uid))
        this.cluster.remove(`Pod/${NAMESPACE}/${pod.metadata.name}`);
    }
  }

  /** All objects except custom resources and pods. */
  objects(): UntypedObject[] {
    return KINDS.flatMap((kind) => this.cluster.list(kind));
  }

  /** Objects of one resource whose selectors match pods of another one: `Service web → evil-api-0`. */
  crossings(): string[] {
    const ownerOfWorkload = new Map(
      ['Deployment', 'StatefulSet']
        .flatMap((kind) => this.cluster.list(kind))
        .map((workload) => [workload.metadata.uid, controllerOf(workload)?.uid]),
    );
    return this.objects().flatMap((object) => {
      const owner = controllerOf(object)?.uid;
      return selectorsOf(object).flatMap((selector) =>
        this.cluster
          .list('Pod')
          .filter(({ metadata }) => matches(selector, metadata.labels ?? {}))
          .filter(({ metadata }) => ownerOfWorkload.get(metadata.ownerReferences?.[0]?.uid) !== owner)
          .map((pod) => `${object.kind} ${object.metadata.name} → ${pod.metadata.name}`),
      );
    });
  }
}

const KINDS = [
  'Deployment',
  'StatefulSet',
  'Service',
  'ServiceAccount',
  'NetworkPolicy',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'Ingress',
  'PersistentVolumeClaim',
  'ControllerRevision',
  'Secret',
];

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** Every selector of pods that the object has. */
function selectorsOf({ kind, spec }: UntypedObject): Selector[] {
  const {
    selector,
    podSelector,
    ingress = [],
  } = (spec ?? {}) as {
    selector?: Selector | Record<string, string>;
    podSelector?: Selector;
    ingress?: { from?: { podSelector?: Selector }[] }[];
  };
  if (kind === 'Service') return [{ matchLabels: selector as Record<string, string> }];
  if (kind === 'NetworkPolicy') {
    const peers = ingress.flatMap(({ from = [] }) => from.flatMap((peer) => peer.podSelector ?? []));
    return [...(podSelector === undefined ? [] : [podSelector]), ...peers];
  }
  const isSelecting = ['Deployment', 'StatefulSet', 'PodDisruptionBudget'].includes(kind);
  return isSelecting && selector !== undefined ? [selector as Selector] : [];
}

function matches(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Record<string, string>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`the operator ${operator} is not simulated`);
      return values.includes(labels[key] ?? '');
    })
  );
}
