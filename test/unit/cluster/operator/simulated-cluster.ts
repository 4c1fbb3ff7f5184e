import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { DeleteOptions } from '../../../../src/cluster/kube/client/client-types.ts';
import { KubeError, type KubeErrorKind } from '../../../../src/cluster/kube/client/errors.ts';
import {
  type KubeObject,
  keyOf,
  type ObjectName,
  type UntypedObject,
} from '../../../../src/cluster/kube/client/object.ts';
import {
  type KnownKind,
  RESOURCES,
  type Resource,
  resourceOf,
} from '../../../../src/cluster/kube/client/resources.ts';
import { subsetDiff } from '../../../../src/cluster/kube/compare/compare.ts';
import type { WriteClient } from '../../../../src/cluster/operator/act/execute.ts';
import { appKeys, identityKeys, keptKeys } from '../../../../src/cluster/operator/observe/cache-keys.ts';
import type { ClusterView } from '../../../../src/cluster/operator/observe/cluster-view.ts';
import { withCurrentNames } from '../../../../src/cluster/operator/observe/stored-names.ts';
import { LABELS } from '../../../../src/contract/resource/names.ts';
import { wantedHost } from '../../../../src/workloads/objects/app-url.ts';
import {
  type Fields,
  merge,
  mergeByName,
  removeDropped,
  removeTaken,
  replicasOwners,
} from './simulated-apply.ts';

/**
 * An API server in memory with the behavior that the operator observes: resource versions, generations, uids,
 * preconditions, server-side apply by manager (lists count as one value), and the owner of `spec.replicas`. `settle`
 * simulates the controllers of Kubernetes.
 */

/** One write that reached the cluster: `apply Deployment/shop-api`. */
export interface Write {
  readonly verb: 'create' | 'apply' | 'patch' | 'delete' | 'status';
  readonly id: string;
  readonly manager?: string;
}

interface Stored {
  object: UntypedObject;
  /** The object that each manager applied last. */
  applied: Map<string, Fields>;
}

export interface Fault {
  when(write: Write): boolean;
  error: KubeErrorKind;
  /** The write is executed, and its response is lost. */
  afterCommit?: boolean;
  message?: string;
}

/** An Event of the type Warning. */
interface SimulatedEvent {
  reason: string;
  message: string;
  lastTimestamp?: string;
}

export class SimulatedCluster {
  readonly #stored = new Map<string, Stored>();
  #version = 1_000;
  writes: Write[] = [];
  faults: Fault[] = [];
  /** Components whose pods do not become ready, with the reason that their container waits for. */
  readonly stuck = new Map<string, string>();
  /** Deleted pods keep terminating until this is cleared. */
  slowEnd = false;
  /** The capacity of volumes; absent: the size that their claims request. */
  capacity: string | undefined;

  /** Events by the uid of their object. They can only be listed. */
  readonly warnings = new Map<string, SimulatedEvent | SimulatedEvent[]>();

  /** How a mutating admission policy changes an object that the operator writes. */
  admit: ((object: UntypedObject) => void) | undefined;
  /** Writes that were only dry runs. */
  dryRuns: string[] = [];

  /** Objects that were deleted with the policy Orphan. Their pods are removed nevertheless. */
  readonly orphaned: string[] = [];

  /** Kinds that this cluster does not have. */
  readonly missingKinds = new Set<string>();

  readonly client: WriteClient & Pick<KubeClient, 'replaceStatus' | 'list'>;
  readonly view: ClusterView;

  constructor() {
    this.client = {
      get: async (resource, at) =>
        as(this.#found(resource, at) ?? fail('not_found', `${resource.kind} ${at.name}`)),
      find: async (resource, at) => as(this.#found(resource, at)),
      create: async (object) => as(this.#create(object as unknown as UntypedObject)),
      apply: async (object, { fieldManager, force, dryRun }) => {
        const apply = () => this.#apply(object as unknown as UntypedObject, fieldManager, force ?? true);
        return as(dryRun === true ? this.#tried(shortId(object), apply) : apply());
      },
      patch: async (resource, at, patch, { dryRun, strategic } = {}) => {
        const send = () => this.#patch(resource, at, patch as Fields, strategic === true);
        return as(dryRun === true ? this.#tried(`${resource.kind}/${at.name}`, send) : send());
      },
      delete: async (resource, at, options) => this.#delete(resource, at, options ?? {}),
      list: async (_resource, { fieldSelector = '' } = {}) => {
        const warnings = [this.warnings.get(fieldSelector.split('=')[1] ?? '') ?? []].flat();
        const items = warnings.map((warning) => ({ type: 'Warning', metadata: {}, ...warning }));
        return as({ items, resourceVersion: '1' });
      },
      replaceStatus: async (object) => as(this.#replaceStatus(object as unknown as UntypedObject)),
    };
    this.view = {
      resource: (key) => {
        const object = this.get(`ManagedDeployment/${key}`);
        return object === undefined ? undefined : withCurrentNames(object);
      },
      resourcesOf: (namespace, value) =>
        this.list('ManagedDeployment').filter((object) =>
          identityKeys(object).includes(`${namespace}/${value}`),
        ),
      keptOf: (namespace, value) =>
        ['PersistentVolumeClaim', 'ControllerRevision']
          .flatMap((kind) => this.list(kind))
          .filter((object) => keptKeys(object).includes(`${namespace}/${value}`)),
      resourcesOfHost: (host) =>
        this.list('ManagedDeployment').filter((object) => wantedHost(object['spec']) === host),
      children: (kind, key) =>
        [...this.#stored.values()]
          .map(({ object }) => object)
          .filter((object) => object.kind === kind && appKeys(object).includes(key)),
      watches: (kind) => !this.missingKinds.has(kind),
      noteWrite: () => {},
      noteDelete: () => {},
      isCurrent: () => true,
      refresh: async (kind, { namespace, name }) => this.get(`${kind}/${namespace}/${name}`),
    };
  }

  /** The object of `Kind/namespace/name`. */
  get(id: string): UntypedObject | undefined {
    return this.#stored.get(id)?.object;
  }

  list(kind: string): UntypedObject[] {
    return [...this.#stored.values()].map(({ object }) => object).filter((object) => object.kind === kind);
  }

  /** Ids of all objects except custom resources and pods. */
  ids(): string[] {
    return [...this.#stored.values()]
      .filter(({ object }) => object.kind !== 'ManagedDeployment' && object.kind !== 'Pod')
      .map(({ object }) => `${object.kind}/${object.metadata.name}`)
      .sort();
  }

  /** Writes an object as another client: without faults and without a log entry. */
  put(object: KubeObject): UntypedObject {
    const id = `${object.kind}/${keyOf(object)}`;
    const before = this.#stored.get(id);
    return this.#store(id, structuredClone(object) as UntypedObject, before?.applied ?? new Map());
  }

  /** Changes an object as another client. */
  edit(id: string, change: (object: UntypedObject) => void): void {
    const stored = this.#stored.get(id);
    if (stored === undefined) throw new Error(`there is no ${id}`);
    const object = structuredClone(stored.object);
    change(object);
    this.#store(id, object, stored.applied);
  }

  /** Removes an object and the objects that it owns, as another client. */
  remove(id: string): void {
    const uid = this.get(id)?.metadata.uid;
    this.#stored.delete(id);
    for (const [other, { object }] of this.#stored) {
      if (object.metadata.ownerReferences?.some((owner) => owner.uid === uid)) this.remove(other);
    }
  }

  #found({ kind }: Resource, { namespace, name }: ObjectName): UntypedObject | undefined {
    return this.get(`${kind}/${namespace}/${name}`);
  }

  #begin(write: Write): Fault | undefined {
    const fault = this.faults.find(({ when }) => when(write));
    if (fault !== undefined && fault.afterCommit !== true) {
      this.faults = this.faults.filter((other) => other !== fault);
      fail(fault.error, fault.message ?? write.id, write);
    }
    this.writes.push(write);
    return fault;
  }

  #end(fault: Fault | undefined): void {
    if (fault === undefined) return;
    this.faults = this.faults.filter((other) => other !== fault);
    fail(fault.error, fault.message ?? 'the answer was lost');
  }

  #create(object: UntypedObject): UntypedObject {
    const id = `${object.kind}/${keyOf(object)}`;
    const fault = this.#begin({ verb: 'create', id: shortId(object) });
    if (this.#stored.has(id)) fail('already_exists', id);
    const made = this.#store(id, readable(structuredClone(object)), new Map());
    this.#end(fault);
    return made;
  }

  #apply(sent: UntypedObject, manager: string, force: boolean): UntypedObject {
    const { uid, resourceVersion, ...metadata } = sent.metadata;
    const body = structuredClone({ ...sent, metadata }) as UntypedObject;
    const id = `${body.kind}/${keyOf(body)}`;
    const stored = this.#stored.get(id);
    const isCreation = stored === undefined;
    const write = { verb: isCreation ? 'create' : 'apply', id: shortId(body), manager } as const;
    const fault = this.#begin(write);
    if (isCreation && uid !== undefined) fail('conflict', id);
    if (!isCreation && uid !== undefined && uid !== stored.object.metadata.uid) fail('conflict', id);
    if (
      !isCreation &&
      resourceVersion !== undefined &&
      resourceVersion !== stored.object.metadata.resourceVersion
    )
      fail('conflict', id);
    const applied = stored?.applied ?? new Map<string, Fields>();
    const others = [...applied].filter(([name]) => name !== manager).map(([, fields]) => fields);
    const before = applied.get(manager) ?? {};
    if (!force && !isCreation && subsetDiff(body, stored.object).length > 0) fail('conflict', id);
    const object = structuredClone(
      stored?.object ?? { apiVersion: body.apiVersion, kind: body.kind, metadata: { name: '' } },
    );
    removeDropped(object, before, body, others);
    merge(object as Fields, body);
    const { selector } = (body['spec'] ?? {}) as Fields;
    // Both are applied together.
    if (selector !== undefined) (object['spec'] as Fields)['selector'] = structuredClone(selector);
    for (const other of others) removeTaken(other, body);
    applied.set(manager, structuredClone(body));
    this.admit?.(object);
    const result = this.#store(id, object, applied);
    this.#end(fault);
    return result;
  }

  /** Executes a dry run: returns the response and restores the former state. */
  #tried(id: string, write: () => UntypedObject): UntypedObject {
    this.dryRuns.push(id);
    const [stored, writes, version] = [structuredClone([...this.#stored]), [...this.writes], this.#version];
    try {
      return structuredClone(write());
    } finally {
      this.#stored.clear();
      for (const [key, value] of stored) this.#stored.set(key, value);
      [this.writes, this.#version] = [writes, version];
    }
  }

  #patch(resource: Resource, at: ObjectName, patch: Fields, strategic: boolean): UntypedObject {
    const id = `${resource.kind}/${at.namespace}/${at.name}`;
    const fault = this.#begin({ verb: 'patch', id: `${resource.kind}/${at.name}` });
    const stored = this.#stored.get(id) ?? fail('not_found', id);
    const { uid, resourceVersion, ...metadata } = (patch['metadata'] ?? {}) as Fields;
    if (uid !== undefined && uid !== stored.object.metadata.uid) fail('conflict', id);
    if (resourceVersion !== undefined && resourceVersion !== stored.object.metadata.resourceVersion)
      fail('conflict', id);
    const object = structuredClone(stored.object);
    if (strategic) mergeByName(object as Fields, { ...patch, metadata });
    else merge(object as Fields, { ...patch, metadata });
    this.admit?.(object);
    const result = this.#store(id, object, stored.applied);
    this.#end(fault);
    return result;
  }

  #delete(
    resource: Resource,
    at: ObjectName,
    { uid, resourceVersion, dryRun, propagationPolicy }: DeleteOptions,
  ): void {
    const id = `${resource.kind}/${at.namespace}/${at.name}`;
    const fault = this.#begin({ verb: 'delete', id: `${resource.kind}/${at.name}` });
    const object = this.get(id) ?? fail('not_found', id);
    if (uid !== undefined && uid !== object.metadata.uid) fail('conflict', id);
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion)
      fail('conflict', id);
    if (propagationPolicy === 'Orphan') this.orphaned.push(shortId(object));
    if (dryRun === true) this.writes.pop();
    else this.remove(id);
    this.#end(fault);
  }

  #replaceStatus(sent: UntypedObject): UntypedObject {
    const id = `${sent.kind}/${keyOf(sent)}`;
    const fault = this.#begin({ verb: 'status', id: shortId(sent) });
    const stored = this.#stored.get(id) ?? fail('not_found', id);
    if (sent.metadata.resourceVersion !== stored.object.metadata.resourceVersion) fail('conflict', id);
    const written = this.#store(
      id,
      { ...stored.object, status: structuredClone(sent['status']) },
      stored.applied,
    );
    this.#end(fault);
    return written;
  }

  #store(id: string, object: UntypedObject, applied: Map<string, Fields>): UntypedObject {
    const before = this.get(id);
    resourceOf(object);
    const spec = object['spec'] as Fields | undefined;
    if ((object.kind === 'Deployment' || object.kind === 'StatefulSet') && spec !== undefined)
      spec['replicas'] ??= 1;
    const { selector } = (before?.['spec'] ?? {}) as Fields;
    if (
      selector !== undefined &&
      object.kind !== 'Service' &&
      !isDeepStrictEqual(selector, spec?.['selector'])
    )
      fail('invalid', 'spec.selector: field is immutable');
    const isSame =
      before !== undefined &&
      isDeepStrictEqual({ ...before, metadata: masked(before) }, { ...object, metadata: masked(object) });
    if (isSame) {
      const kept = Object.assign(structuredClone(before), { replicasOwners: replicasOwners(applied) });
      this.#stored.set(id, { object: kept, applied });
      return kept;
    }
    this.#version += 1;
    const specChanged = before === undefined || !isDeepStrictEqual(before['spec'], object['spec']);
    const stored = {
      ...object,
      metadata: {
        ...object.metadata,
        uid: before?.metadata.uid ?? object.metadata.uid ?? randomUUID(),
        creationTimestamp:
          before?.metadata.creationTimestamp ??
          object.metadata.creationTimestamp ??
          new Date(0).toISOString(),
        resourceVersion: String(this.#version),
        generation: (before?.metadata.generation ?? 0) + (specChanged ? 1 : 0),
      },
      replicasOwners: replicasOwners(applied),
    };
    this.#stored.set(id, { object: stored, applied });
    return stored;
  }

  /** Runs the simulated controllers of Kubernetes until they have nothing left to do. */
  settle(): void {
    for (const claim of this.list('PersistentVolumeClaim')) {
      const { resources } = claim['spec'] as { resources: { requests: object } };
      const capacity = this.capacity === undefined ? resources.requests : { storage: this.capacity };
      this.#setStatus(claim, { phase: 'Bound', capacity });
    }
    for (const autoscaler of this.list('HorizontalPodAutoscaler')) this.#autoscale(autoscaler);
    for (const kind of ['Deployment', 'StatefulSet']) {
      for (const workload of this.list(kind)) this.#settleWorkload(workload);
    }
    this.#endPods();
  }

  /** Without metrics an autoscaler only keeps the number in its range, and it ignores 0. */
  #autoscale({ metadata, spec }: UntypedObject): void {
    const { minReplicas, maxReplicas } = spec as { minReplicas: number; maxReplicas: number };
    const now = this.#replicasOf(`Deployment/${keyOf({ metadata } as KubeObject)}`);
    if (now === undefined || now === 0) return;
    const chosen = Math.min(maxReplicas, Math.max(minReplicas, now));
    if (chosen !== now) this.scale(`Deployment/${keyOf({ metadata } as KubeObject)}`, chosen);
  }

  #replicasOf(id: string): number | undefined {
    return (this.get(id)?.['spec'] as { replicas?: number } | undefined)?.replicas;
  }

  /** Writes `spec.replicas` as autoscaler and `kubectl scale` do. The manager that applied it no longer owns it. */
  scale(id: string, replicas: number): void {
    for (const fields of this.#stored.get(id)?.applied.values() ?? []) {
      delete (fields['spec'] as Fields | undefined)?.['replicas'];
    }
    this.edit(id, (object) => Object.assign(object['spec'] as object, { replicas }));
  }

  #settleWorkload(workload: UntypedObject): void {
    const { replicas, template } = workload['spec'] as { replicas: number; template: UntypedObject };
    const labels = template.metadata.labels ?? {};
    const reason = this.stuck.get(labels[LABELS.component] ?? '');
    const namespace = workload.metadata.namespace ?? '';
    const made: string[] = [];
    for (let index = 0; index < replicas; index += 1) {
      const name = `${workload.metadata.name}-${index}`;
      made.push(name);
      const ready = reason === undefined ? 'True' : 'False';
      const waiting = reason === undefined ? {} : { waiting: { reason } };
      this.put({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace, labels, ownerReferences: [ownerOf(workload)] },
        status: {
          conditions: [{ type: 'Ready', status: ready }],
          containerStatuses: [{ name: 'app', ready: reason === undefined, state: waiting }],
        },
      } as KubeObject);
    }
    const mine = this.list('Pod').filter(
      ({ metadata }) => metadata.ownerReferences?.[0]?.uid === workload.metadata.uid,
    );
    for (const pod of mine) {
      if (made.includes(pod.metadata.name)) continue;
      this.edit(`Pod/${keyOf(pod)}`, ({ metadata }) => {
        metadata.deletionTimestamp = new Date(0).toISOString();
      });
    }
    const ready = reason === undefined ? replicas : 0;
    const status = {
      observedGeneration: workload.metadata.generation,
      replicas,
      updatedReplicas: replicas,
      readyReplicas: ready,
      availableReplicas: ready,
    };
    this.#setStatus(workload, status);
  }

  #endPods(): void {
    if (this.slowEnd) return;
    for (const pod of this.list('Pod'))
      if (pod.metadata.deletionTimestamp !== undefined) this.remove(`Pod/${keyOf(pod)}`);
  }

  #setStatus(object: UntypedObject, status: object): void {
    this.edit(`${object.kind}/${keyOf(object)}`, (live) => {
      live['status'] = status;
    });
  }
}

function shortId({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}`;
}

function as<T>(value: unknown): T {
  return value as T;
}

function fail(kind: KubeErrorKind, message: string, write?: Write): never {
  const call = write === undefined ? { action: 'write' } : callOf(write);
  throw new KubeError({ kind, message: `failed to ${call.action}: ${message}`, ...call });
}

/** The name of the resource in errors of the client. */
function callOf({ verb, id }: Write): { action: string; resource: string } {
  const [kind = '', name] = id.split('/');
  return { action: `${verb} ${kind} ${name}`, resource: RESOURCES[kind as KnownKind].plural };
}

function masked({ metadata: { resourceVersion: _, generation: _generation, ...rest } }: KubeObject): object {
  return { ...rest, uid: '', creationTimestamp: '' };
}

function ownerOf({ apiVersion, kind, metadata: { name, uid = '' } }: KubeObject) {
  return { apiVersion, kind, name, uid, controller: true };
}

/** Converts stringData to data, as the API server does. */
function readable({ stringData, ...object }: UntypedObject): UntypedObject {
  if (stringData === undefined) return object as UntypedObject;
  const entries = Object.entries(stringData as Record<string, string>);
  const data = Object.fromEntries(
    entries.map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  return { ...object, data } as UntypedObject;
}
