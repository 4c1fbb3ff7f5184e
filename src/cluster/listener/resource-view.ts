import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, LABELS, MANAGED_BY } from '../../contract/resource/names.ts';
import type { Reason } from '../../domain/conditions/conditions.ts';
import { isDeeper, MAX_LEVELS } from '../../domain/core/depth.ts';
import { contentHash } from '../../domain/core/hash.ts';
import type { Reflector, ReflectorHandlers, ReflectorStats } from '../kube/cache/reflector.ts';
import { type KubeObject, keyOf } from '../kube/client/object.ts';

/** The custom resource as a Kubernetes object of the client. */
export type Resource = ManagedDeployment & KubeObject;

/** All custom resources that the listener may see: one reflector over all namespaces, or one for each. */
export class ResourceView {
  readonly #reflectors: readonly Reflector<Resource>[];
  readonly #byNamespace: ReadonlyMap<string, Reflector<Resource>>;
  #noting = false;
  /** Hash of the spec that this listener is writing just now, by key: the watch may tell of it before the answer comes. */
  readonly #writing = new Map<string, string>();

  /** @param reflectors by namespace; '' for the one over all namespaces */
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

  /** Resolves once something can be read, and each namespace was read or has failed to be. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.waitForAttempt(signal)));
    await Promise.any(this.#reflectors.map((reflector) => reflector.waitForSync(signal)));
  }

  /** Calls back for each namespace that was not read yet, once it is; not after the signal has fired. */
  onLateSync(callback: () => void, signal: AbortSignal): void {
    for (const reflector of this.#reflectors) {
      if (!reflector.hasSynced()) reflector.waitForSync(signal).then(callback, () => undefined);
    }
  }

  /** Health of each cache. */
  stats(): { kind: string; stats: ReflectorStats }[] {
    return this.#reflectors.map((reflector) => ({ kind: reflector.resource.kind, stats: reflector.stats() }));
  }

  /** Why list or watch fail at present, everywhere; undefined: they do not, or not everywhere. */
  lastError(): string | undefined {
    const errors = this.#reflectors.map((reflector) => reflector.stats().lastError);
    return errors.includes(undefined) ? undefined : errors[0];
  }

  /** Namespaces that list or watch fail in, with why; none where all are read together. */
  unreadable(): { namespace: string; message: string }[] {
    return [...this.#byNamespace].flatMap(([namespace, reflector]) => {
      const { lastError } = reflector.stats();
      return namespace === '' || lastError === undefined ? [] : [{ namespace, message: lastError }];
    });
  }

  /** Namespaces whose resources are all in the list; null: all of the cluster. */
  listed(): string[] | null {
    if (this.#byNamespace.has('')) return null;
    return [...this.#byNamespace].filter(([, reflector]) => reflector.hasSynced()).map(([name]) => name);
  }

  /** Why nothing was ever read in this namespace; undefined: it was. */
  trouble(namespace: string): string | undefined {
    const reflector = this.#for(namespace);
    if (reflector === undefined || reflector.hasSynced()) return undefined;
    return reflector.stats().lastError ?? 'it was not read yet';
  }

  /** Whether the listener may look at this namespace. */
  covers(namespace: string): boolean {
    return this.#for(namespace) !== undefined;
  }

  /** Of the namespaces that were read. */
  list(): Resource[] {
    return this.#reflectors.flatMap((reflector) => (reflector.hasSynced() ? reflector.store.list() : []));
  }

  get(namespace: string, name: string): Resource | undefined {
    return this.#for(namespace)?.store.get(keyOf({ namespace, name }));
  }

  /**
   * As `get`, but read from the API server where the cache is behind an own write. What it lacks may exist all the
   * same: creating it then fails, and nothing is lost.
   */
  async getSure(namespace: string, name: string, signal: AbortSignal): Promise<Resource | undefined> {
    const reflector = this.#for(namespace);
    const key = keyOf({ namespace, name });
    if (reflector?.isCurrent(key) === true) return reflector.store.get(key);
    return this.refresh(namespace, name, signal);
  }

  refresh(namespace: string, name: string, signal: AbortSignal): Promise<Resource | undefined> {
    const reflector = this.#for(namespace);
    if (reflector === undefined) throw new Error(`failed to read ${namespace}/${name}: not in view`);
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

  /** Sends a write. If another account has written meanwhile, the answer says so. */
  async writing(resource: Resource, send: () => Promise<Resource>): Promise<Resource> {
    const key = keyOf(resource.metadata);
    this.#writing.set(key, specHashOf(resource));
    try {
      return await send();
    } finally {
      this.#writing.delete(key);
    }
  }

  /** For handlers: this that they are told of just now is an own write. */
  isOwnWrite(resource: Resource): boolean {
    const hash = this.#writing.get(keyOf(resource.metadata));
    return this.#noting || (hash !== undefined && hash === specHashOf(resource));
  }

  noteDelete(resource: Resource): void {
    const { namespace, uid } = resource.metadata;
    if (uid !== undefined) this.#for(namespace)?.noteDelete(keyOf(resource), uid);
  }

  /** Tells of every resource known, then of changes. Returns the function that ends it. */
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

/** Of what no version of Berth wrote; no hash is this. */
const TOO_DEEP = 'too-deep';

/** Hash of spec as it stands. */
export function specHashOf(resource: Resource): string {
  let hash = hashes.get(resource);
  if (hash === undefined) {
    // Whoever edits a spec may nest it: that one is edited, and the next one is looked at.
    hash = isDeeper(resource.spec, MAX_LEVELS) ? TOO_DEEP : contentHash(resource.spec);
    hashes.set(resource, hash);
  }
  return hash;
}

/** Hash of spec as a listener applied it last; null: no listener ever did. */
export function appliedHashOf(resource: Resource): string | null {
  return resource.metadata.annotations?.[ANNOTATIONS.specHash] ?? null;
}

/** Whether somebody else than a listener wrote spec last: whoever edits it leaves the listener's note as it is. */
export function isEdited(resource: Resource): boolean {
  return specHashOf(resource) !== appliedHashOf(resource);
}

/** Whether the operator misses a Secret that only a listener can make again. */
export function lacksEnvironment({ status }: Resource): boolean {
  return (
    status?.conditions?.some(({ reason }) => reason === ('EnvironmentMissing' satisfies Reason)) ?? false
  );
}

/**
 * Why the operator does nothing for the resource although it could be the hub's: another one has its identity, or objects
 * were left. null: it does. Then every condition says so; see cluster/operator/access/identity.ts.
 */
export function identityConflict({ status }: Resource): string | null {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready');
  const isConflict = (reason: string) => reason === ('Conflict' satisfies Reason);
  if (ready?.status !== 'False' || !conditions.every(({ reason }) => isConflict(reason))) return null;
  return ready.message;
}

/** Whether a build lacks, or has perhaps lost, the Secret with its credentials. */
export function lacksBuildSecret({ spec, status }: Resource): boolean {
  const { build } = status ?? {};
  if (build === undefined || build.revisionId !== spec?.build?.revisionId) return false;
  const isUnderWay = build.phase === 'Waiting' || build.phase === 'Running';
  return isUnderWay && build.reason === ('BuildLost' satisfies Reason);
}

/** Whether the resource carries the labels by which it is found, as a listener writes them from its spec. */
export function hasOwnLabels({ spec, metadata }: Resource): boolean {
  const { labels = {} } = metadata;
  return (
    labels[LABELS.deploymentId] === spec?.deploymentId &&
    labels[LABELS.tenantId] === spec?.tenantId &&
    labels[LABELS.managedBy] === MANAGED_BY
  );
}
