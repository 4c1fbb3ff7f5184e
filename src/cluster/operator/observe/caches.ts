import { MANAGED_DEPLOYMENT } from '../../../contract/resource/definition.ts';
import { wantedHosts } from '../../../workloads/objects/app-url.ts';
import { isSecretSentinel } from '../../../workloads/objects/secret-sentinel.ts';
import type { ObjectVersion } from '../../kube/cache/compressed-store.ts';
import type { Reflector, ReflectorStats } from '../../kube/cache/reflector.ts';
import { type KubeObject, keyOf, type ObjectName, type UntypedObject } from '../../kube/client/object.ts';
import type { ChildKindName } from '../kinds.ts';
import { appKeys, identityKeys, resourceTenant, WITH_BUILD } from './cache-keys.ts';
import {
  ALL,
  BY_APP,
  BY_BUILD,
  BY_HOST,
  BY_IDENTITY,
  type ByNamespace,
  childReflectors,
  KEPT_KINDS,
  type ReflectorsOptions,
  resourceReflectors,
} from './cache-reflectors.ts';
import type { ClusterView } from './cluster-view.ts';

export interface CachesOptions extends ReflectorsOptions {
  /** Kinds to watch. The cluster must serve all these kinds. */
  readonly kinds: readonly ChildKindName[];
}

/** Health of one cache. */
export interface CacheHealth {
  readonly kind: string;
  /** Empty: all namespaces. */
  readonly namespace: string;
  readonly stats: ReflectorStats;
}

type Changed = (key: string) => void;

/** Whether the event reports a write of this process. `noteWrite` has already added the object to the cache. */
const isEcho = ({ metadata }: UntypedObject, before: UntypedObject): boolean =>
  metadata.resourceVersion === before.metadata.resourceVersion;

/**
 * Handlers that call back with the keys of the custom resources that an object belonged to before the change or belongs
 * to after it. The next reconcile waits for the event of most own writes. The next reconcile does not wait for the
 * event of a sentinel write, because such a write is usually the last work of a reconcile. The requeue rules cover the
 * other cases.
 */
function changeHandlers(changed: Changed, keys: (object: UntypedObject) => string[]) {
  const notify = (...versions: UntypedObject[]) => {
    for (const key of new Set(versions.flatMap(keys))) changed(key);
  };
  const updated = (object: UntypedObject, before: UntypedObject) => {
    if (!isEcho(object, before) || !isSecretSentinel(object)) notify(object, before);
  };
  return { added: notify, updated, deleted: notify };
}

/** The reflectors of all kinds as one view. */
export class Caches implements ClusterView {
  readonly #options: CachesOptions;
  readonly #resources: ByNamespace;
  readonly #children = new Map<string, ByNamespace>();
  readonly #changed: Changed[] = [];
  /**
   * Tenants by key. Every change of an owned object needs the tenant, and must not decompress the custom resource.
   */
  readonly #tenants = new Map<string, string>();

  constructor(options: CachesOptions) {
    this.#options = options;
    this.#resources = resourceReflectors(options);
    for (const reflector of this.#resources.values()) {
      const note = (object: UntypedObject) => this.#tenants.set(keyOf(object), resourceTenant(object));
      const forget = (object: UntypedObject) => this.#tenants.delete(keyOf(object));
      reflector.addHandlers({ added: note, updated: note, deleted: forget });
    }
    for (const kind of options.kinds) this.#children.set(kind, childReflectors(options, kind));
  }

  #all(): Reflector<UntypedObject>[] {
    return [this.#resources, ...this.#children.values()].flatMap((byNamespace) => [...byNamespace.values()]);
  }

  /** Calls back with the key of each custom resource that changed. Changes of owned objects do not count. */
  onResourceChange(changed: Changed): void {
    for (const reflector of this.#resources.values()) {
      const notify = (object: UntypedObject) => changed(keyOf(object));
      reflector.addHandlers({
        added: notify,
        deleted: notify,
        updated: (object, old) => {
          // A write of the status ends its reconcile, so its event needs no further reconcile.
          if (!isEcho(object, old)) notify(object);
        },
      });
    }
  }

  /** Calls back with each custom resource whose status this process has written, when its event arrives. */
  onOwnStatus(written: (resource: UntypedObject) => void): void {
    for (const reflector of this.#resources.values()) {
      reflector.addHandlers({
        updated: (object, old) => {
          if (isEcho(object, old)) written(object);
        },
      });
    }
  }

  /** Calls back with the key of each custom resource for which any object changed. */
  onChange(changed: Changed): void {
    this.#changed.push(changed);
    this.onResourceChange(changed);
    for (const reflector of this.#resources.values()) {
      reflector.addHandlers({
        added: (object) => {
          this.#notifyClaimants(wantedHosts(object['spec']));
          this.#notifyRivals(object);
        },
        updated: (object, old) => {
          this.#notifyRivals(object);
          const [now, before] = [wantedHosts(object['spec']), wantedHosts(old['spec'])];
          this.#notifyClaimants(before.filter((host) => !now.includes(host)));
          this.#notifyClaimants(now.filter((host) => !before.includes(host)));
        },
        deleted: (object) => {
          this.#notifyClaimants(wantedHosts(object['spec']));
          this.#notifyRivals(object);
        },
      });
    }
    for (const byNamespace of this.#children.values()) {
      for (const reflector of byNamespace.values()) reflector.addHandlers(changeHandlers(changed, appKeys));
    }
  }

  /**
   * Starts to watch a kind. When the cache of the kind has synced, every resource counts as changed.
   * @throws when the signal fires before the sync; the kind is then not watched
   */
  async watch(kind: ChildKindName, signal: AbortSignal): Promise<void> {
    const reflectors = [...childReflectors(this.#options, kind)];
    for (const [, reflector] of reflectors) {
      for (const changed of this.#changed) reflector.addHandlers(changeHandlers(changed, appKeys));
      reflector.start();
    }
    try {
      await Promise.all(reflectors.map(([, reflector]) => reflector.waitForSync(signal)));
      signal.throwIfAborted();
    } catch (error) {
      await Promise.all(reflectors.map(([, reflector]) => reflector.stop()));
      throw error;
    }
    this.#children.set(kind, new Map(reflectors));
    this.#notifyAll();
  }

  /** Stops to watch a kind that the cluster no longer has. Every resource then counts as changed. */
  async unwatch(kind: ChildKindName): Promise<void> {
    const reflectors = [...(this.#children.get(kind)?.values() ?? [])];
    this.#children.delete(kind);
    this.#notifyAll();
    await Promise.all(reflectors.map((reflector) => reflector.stop()));
  }

  watches(kind: ChildKindName): boolean {
    return this.#children.has(kind);
  }

  /** Whether the list or watch of a kind fails at present. */
  isFailing(kind: ChildKindName): boolean {
    const reflectors = [...(this.#children.get(kind)?.values() ?? [])];
    return reflectors.some((reflector) => reflector.stats().lastError !== undefined);
  }

  /** Keys of the custom resources that request a build. */
  building(): string[] {
    return [...this.#resources.values()].flatMap(({ store }) => store.keysByIndex(BY_BUILD, WITH_BUILD));
  }

  /** Version of a custom resource, without decompressing it. */
  versionOf(key: string): ObjectVersion | undefined {
    return this.#in(this.#resources, key.slice(0, key.indexOf('/')))?.store.versionOf(key);
  }

  /** Tenant of a custom resource. For an unknown resource, this is its namespace. */
  tenantOf(key: string): string {
    return this.#tenants.get(key) ?? key.slice(0, key.indexOf('/'));
  }

  /** Number of custom resources in a namespace with this identity value. */
  countOf(namespace: string, value: string): number {
    const key = `${namespace}/${value}`;
    return this.#in(this.#resources, namespace)?.store.keysByIndex(BY_IDENTITY, key).length ?? 0;
  }

  /**
   * Notifies the other resources with the same identity, because a change of one resource can decide whether another
   * may use the identity.
   */
  #notifyRivals(object: UntypedObject): void {
    const store = this.#in(this.#resources, object.metadata.namespace)?.store;
    const own = keyOf(object);
    const keys = identityKeys(object).flatMap((key) => store?.keysByIndex(BY_IDENTITY, key) ?? []);
    this.#notify(keys.filter((key) => key !== own));
  }

  /** Notifies all resources that request a host when another resource requests it or no longer requests it. */
  #notifyClaimants(hosts: readonly string[]): void {
    for (const host of hosts) this.#notify(this.resourcesOfHost(host).map(keyOf));
  }

  #notifyAll(): void {
    this.#notify([...this.#resources.values()].flatMap(({ store }) => [...store.keys()]));
  }

  #notify(keys: readonly string[]): void {
    for (const changed of this.#changed) for (const key of keys) changed(key);
  }

  start(): void {
    for (const reflector of this.#all()) reflector.start();
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((reflector) => reflector.waitForSync(signal)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map((reflector) => reflector.stop()));
  }

  /** Health of each reflector, by kind and namespace. */
  stats(): CacheHealth[] {
    return [['ManagedDeployment', this.#resources] as const, ...this.#children].flatMap(
      ([kind, byNamespace]) =>
        [...byNamespace].map(([namespace, reflector]) => ({ kind, namespace, stats: reflector.stats() })),
    );
  }

  resourcesOf(namespace: string, value: string): UntypedObject[] {
    return this.#in(this.#resources, namespace)?.store.byIndex(BY_IDENTITY, `${namespace}/${value}`) ?? [];
  }

  keptOf(namespace: string, value: string): UntypedObject[] {
    return KEPT_KINDS.flatMap((kind) => {
      const reflector = this.#in(this.#children.get(kind), namespace);
      return reflector?.store.byIndex(BY_IDENTITY, `${namespace}/${value}`) ?? [];
    });
  }

  resourcesOfHost(host: string): UntypedObject[] {
    return [...this.#resources.values()].flatMap(({ store }) => store.byIndex(BY_HOST, host));
  }

  resource(key: string): UntypedObject | undefined {
    return this.#in(this.#resources, key.slice(0, key.indexOf('/')))?.store.get(key);
  }

  children(kind: ChildKindName, key: string): UntypedObject[] {
    const reflector = this.#in(this.#children.get(kind), key.slice(0, key.indexOf('/')));
    return reflector?.store.byIndex(BY_APP, key) ?? [];
  }

  noteWrite(written: KubeObject): void {
    this.#of(written)?.noteWrite(written as UntypedObject);
  }

  noteDelete(deleted: KubeObject): void {
    this.#of(deleted)?.noteDelete(keyOf(deleted), deleted.metadata.uid ?? '');
  }

  isCurrent(object: KubeObject): boolean {
    return this.#of(object)?.isCurrent(keyOf(object)) ?? true;
  }

  async refresh(
    kind: ChildKindName,
    at: ObjectName,
    signal: AbortSignal,
  ): Promise<UntypedObject | undefined> {
    return await this.#in(this.#children.get(kind), at.namespace)?.refresh(at, { signal });
  }

  #of({ kind, metadata }: KubeObject): Reflector<UntypedObject> | undefined {
    const byNamespace = kind === MANAGED_DEPLOYMENT.kind ? this.#resources : this.#children.get(kind);
    return this.#in(byNamespace, metadata.namespace);
  }

  #in(byNamespace: ByNamespace | undefined, namespace = ALL): Reflector<UntypedObject> | undefined {
    return byNamespace?.get(ALL) ?? byNamespace?.get(namespace);
  }
}
