import { currentSpec, formerSpec, isFormerSpec } from '../../contract/resource/former-names.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from '../../contract/resource/names.ts';
import type { Reason } from '../../domain/conditions/conditions.ts';
import { isDeeper, MAX_LEVELS } from '../../domain/core/depth.ts';
import { contentHash } from '../../domain/core/hash.ts';
import type { Reflector, ReflectorHandlers, ReflectorStats } from '../kube/cache/reflector.ts';
import { type KubeObject, keyOf } from '../kube/client/object.ts';

/** The custom resource as a Kubernetes object of the client. */
export type Resource = ManagedDeployment & KubeObject;

/**
 * All custom resources that the listener may read, with one reflector for all namespaces, or one for each namespace.
 */
export class ResourceView {
  readonly #reflectors: readonly Reflector<Resource>[];
  readonly #byNamespace: ReadonlyMap<string, Reflector<Resource>>;
  #noting = false;
  /**
   * Hash of the spec that this listener is writing, by key. This hash is needed because the watch event may arrive
   * before the response to the write.
   */
  readonly #writing = new Map<string, string>();

  /** @param reflectors by namespace; '' for the reflector of all namespaces */
  constructor(reflectors: ReadonlyMap<string, Reflector<Resource>>) {
    this.#byNamespace = reflectors;
    this.#reflectors = [...reflectors.values()];
  }

  start(): void {
    for (const reflector of this.#reflectors) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }

  /** Resolves when each namespace was read or has failed, and at least one was read. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.waitForAttempt(signal)));
    await Promise.any(this.#reflectors.map((reflector) => reflector.waitForSync(signal)));
  }

  /** Calls back when a namespace is read for the first time. Does not call back after the signal has fired. */
  onLateSync(callback: () => void, signal: AbortSignal): void {
    for (const reflector of this.#reflectors) {
      if (!reflector.hasSynced()) reflector.waitForSync(signal).then(callback, () => undefined);
    }
  }

  /** Health of each cache. */
  stats(): { kind: string; stats: ReflectorStats }[] {
    return this.#reflectors.map((reflector) => ({ kind: reflector.resource.kind, stats: reflector.stats() }));
  }

  /** The current error of list or watch, if all namespaces fail; otherwise undefined. */
  lastError(): string | undefined {
    const errors = this.#reflectors.map((reflector) => reflector.stats().lastError);
    return errors.includes(undefined) ? undefined : errors[0];
  }

  /** Namespaces whose list or watch fails, with the error; empty when one reflector reads all namespaces. */
  unreadable(): { namespace: string; message: string }[] {
    return [...this.#byNamespace].flatMap(([namespace, reflector]) => {
      const { lastError } = reflector.stats();
      return namespace === '' || lastError === undefined ? [] : [{ namespace, message: lastError }];
    });
  }

  /** Namespaces that have been listed completely; null: all of the cluster. */
  listed(): string[] | null {
    if (this.#byNamespace.has('')) return null;
    return [...this.#byNamespace].filter(([, reflector]) => reflector.hasSynced()).map(([name]) => name);
  }

  /** Why this namespace was never read; undefined: it was read. */
  trouble(namespace: string): string | undefined {
    const reflector = this.#for(namespace);
    if (reflector === undefined || reflector.hasSynced()) return undefined;
    return reflector.stats().lastError ?? 'the namespace was not read yet';
  }

  /** Whether the listener works in this namespace. */
  covers(namespace: string): boolean {
    return this.#for(namespace) !== undefined;
  }

  /** The resources of the namespaces that were read. */
  list(): Resource[] {
    return this.#reflectors.flatMap((reflector) => (reflector.hasSynced() ? reflector.store.list() : []));
  }

  get(namespace: string, name: string): Resource | undefined {
    return this.#for(namespace)?.store.get(keyOf({ namespace, name }));
  }

  /**
   * Like `get`, but reads from the API server when the cache is older than an own write. A resource that is missing
   * from the cache may still exist. In this case, the attempt to create the resource fails, and nothing is lost.
   */
  async getSure(namespace: string, name: string, signal: AbortSignal): Promise<Resource | undefined> {
    const reflector = this.#for(namespace);
    const key = keyOf({ namespace, name });
    if (reflector?.isCurrent(key) === true) return reflector.store.get(key);
    return this.refresh(namespace, name, signal);
  }

  refresh(namespace: string, name: string, signal: AbortSignal): Promise<Resource | undefined> {
    const reflector = this.#for(namespace);
    if (reflector === undefined)
      throw new Error(`failed to read ${namespace}/${name}: the listener does not watch this namespace`);
    return reflector.refresh({ namespace, name }, { signal });
  }

  noteWrite(resource: Resource): void {
    this.#noting = true;
    try {
      this.#for(resource.metadata.namespace)?.noteWrite(resource);
    } finally {
      this.#noting = false;
    }
  }

  /** Sends a write. The response shows whether another account has written in the meantime. */
  async writing(resource: Resource, send: () => Promise<Resource>): Promise<Resource> {
    const key = keyOf(resource.metadata);
    this.#writing.set(key, specHashOf(resource));
    try {
      return await send();
    } finally {
      this.#writing.delete(key);
    }
  }

  /** For handlers: whether a write of this process caused the current event. */
  isOwnWrite(resource: Resource): boolean {
    const hash = this.#writing.get(keyOf(resource.metadata));
    return this.#noting || (hash !== undefined && hash === specHashOf(resource));
  }

  noteDelete(resource: Resource): void {
    const { namespace, uid } = resource.metadata;
    if (uid !== undefined) this.#for(namespace)?.noteDelete(keyOf(resource), uid);
  }

  /**
   * Calls the handlers for every known resource, then for changes.
   * @returns a function that removes the handlers
   */
  addHandlers(handlers: ReflectorHandlers<Resource>): () => void {
    const removers = this.#reflectors.map((reflector) => reflector.addHandlers(handlers));
    return () => {
      for (const remove of removers) remove();
    };
  }

  #for(namespace: string): Reflector<Resource> | undefined {
    return this.#byNamespace.get('') ?? this.#byNamespace.get(namespace);
  }
}

const hashes = new WeakMap<Resource, string>();

/** The value for a spec that no version of Berth wrote. No hash has this value. */
const TOO_DEEP = 'too-deep';

/**
 * Hash of the current spec, with the names of work items. So the hash of a resource does not depend on the version that
 * stored it.
 */
export function specHashOf(resource: Resource): string {
  let hash = hashes.get(resource);
  if (hash === undefined) {
    // A spec that was edited by hand may be nested too deeply to be hashed. Such a spec counts as edited.
    hash = isDeeper(resource.spec, MAX_LEVELS) ? TOO_DEEP : contentHash(formerSpec(resource.spec));
    hashes.set(resource, hash);
  }
  return hash;
}

/** The generation of the record that the resource contains. The value comes from the cluster, so it can be any value. */
export function recordGenerationOf({ spec }: Resource): unknown {
  return currentSpec(spec)?.recordGeneration;
}

/**
 * Whether a write keeps the names of the previous version, because an operator of that version reports the status of the
 * resource. A new resource gets the current names.
 */
export function keepsFormerNames(live: Resource | undefined): boolean {
  return live !== undefined && isFormerSpec(live.spec) && !isOfCurrentOperator(live.status);
}

const isOfCurrentOperator = (status: Resource['status']) => status?.deploymentStatus !== undefined;

/** Hash of the spec that a listener last applied; null: no listener applied a spec. */
export function appliedHashOf(resource: Resource): string | null {
  return resource.metadata.annotations?.[ANNOTATIONS.specHash] ?? null;
}

/**
 * Whether another writer than a listener wrote the spec last. Other writers leave the listener's annotation unchanged.
 */
export function isEdited(resource: Resource): boolean {
  return specHashOf(resource) !== appliedHashOf(resource);
}

/** Whether the operator misses a Secret that only a listener can create. */
export function lacksEnvironment({ status }: Resource): boolean {
  return (
    status?.conditions?.some(({ reason }) => reason === ('EnvironmentMissing' satisfies Reason)) ?? false
  );
}

/**
 * Why the operator rejects a resource that the hub may have created: another resource has its identity, or objects were
 * left behind. null: no conflict. In a conflict, every condition states it; see cluster/operator/access/identity.ts.
 */
export function identityConflict({ status }: Resource): string | null {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready');
  const isConflict = (reason: string) => reason === ('Conflict' satisfies Reason);
  if (ready?.status !== 'False' || !conditions.every(({ reason }) => isConflict(reason))) return null;
  return ready.message;
}

/** Whether the Secret with the credentials of a build is, or may be, missing. */
export function lacksBuildSecret({ spec, status }: Resource): boolean {
  const { build } = status ?? {};
  if (build === undefined || build.revisionId !== spec?.build?.revisionId) return false;
  const isUnderWay = build.phase === 'Waiting' || build.phase === 'Running';
  return isUnderWay && build.reason === ('BuildLost' satisfies Reason);
}

/** Whether the resource has the labels that a listener derives from its spec. */
export function hasOwnLabels({ spec, metadata }: Resource): boolean {
  const { labels = {} } = metadata;
  return (
    labels[LABELS.deploymentId] === spec?.deploymentId &&
    labels[LABELS.tenantId] === spec?.tenantId &&
    labels[LABELS.managedBy] === MANAGED_BY
  );
}
