import { MANAGED_DEPLOYMENT } from '../../../contract/resource/managed-deployment.ts';
import { wantedHost } from '../../../workloads/objects/app-url.ts';
import { isSecretSentinel } from '../../../workloads/objects/secret-sentinel.ts';
import type { ObjectVersion } from '../../kube/cache/compressed-store.ts';
import type { Reflector, ReflectorStats } from '../../kube/cache/reflector.ts';
import { type KubeObject, keyOf, type ObjectName, type UntypedObject } from '../../kube/client/object.ts';
import type { ChildKindName } from '../kinds.ts';
import { appKeys, identityKeys, tenantOf, WITH_BUILD } from './cache-keys.ts';
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
  /** Kinds to watch: those that the cluster has. */
  readonly kinds: readonly ChildKindName[];
}

/** Health of one cache. */
export interface WatchStats {
  readonly kind: string;
  /** '': all. */
  readonly namespace: string;
  readonly stats: ReflectorStats;
}

/**
 * Why a custom resource is to be looked at. asked: somebody has made or changed it, and waits. seen: anything else, also
 * that a process which has just started finds it.
 */
export type Cause = 'asked' | 'seen';

type Changed = (key: string, cause: Cause) => void;

/** Of two versions of a custom resource: only its status or its metadata is another one. */
const isSameWish = ({ metadata }: UntypedObject, before: UntypedObject): boolean =>
  metadata.generation === before.metadata.generation &&
  metadata.deletionTimestamp === before.metadata.deletionTimestamp;

/** The echo of an own write, which `noteWrite` has put into the cache: the look that wrote it knows of it. */
const isEcho = ({ metadata }: UntypedObject, before: UntypedObject): boolean =>
  metadata.resourceVersion === before.metadata.resourceVersion;

/**
 * Handlers that call back with the keys that an object concerns, or did until its label was edited. The echo of most
 * writes is what the next look waits for; after a witness mostly nothing is left to do, and `nextLook` knows where something is.
 */
function telling(changed: Changed, keys: (object: UntypedObject) => string[]) {
  const tell = (...versions: UntypedObject[]) => {
    for (const key of new Set(versions.flatMap(keys))) changed(key, 'seen');
  };
  const updated = (object: UntypedObject, before: UntypedObject) => {
    if (!isEcho(object, before) || !isSecretSentinel(object)) tell(object, before);
  };
  return { added: tell, updated, deleted: tell };
}

/** The reflectors of all kinds (one a kind, or one a kind and namespace) as one view. */
export class Caches implements ClusterView {
  readonly #options: CachesOptions;
  readonly #resources: ByNamespace;
  readonly #children = new Map<string, ByNamespace>();
  readonly #changed: Changed[] = [];
  /** Of each custom resource: it is asked for at each change of whatever it owns, which must not unpack it. */
  readonly #tenants = new Map<string, string>();

  constructor(options: CachesOptions) {
    this.#options = options;
    this.#resources = resourceReflectors(options);
    for (const reflector of this.#resources.values()) {
      const note = (object: UntypedObject) => this.#tenants.set(keyOf(object), tenantOf(object));
      const forget = (object: UntypedObject) => this.#tenants.delete(keyOf(object));
      reflector.addHandlers({ added: note, updated: note, deleted: forget });
    }
    for (const kind of options.kinds) this.#children.set(kind, childReflectors(options, kind));
  }

  #all(): Reflector<UntypedObject>[] {
    return [this.#resources, ...this.#children.values()].flatMap((byNamespace) => [...byNamespace.values()]);
  }

  /** Calls back with the key of each custom resource that is another one now, whatever becomes of what it owns. */
  onResourceChange(changed: Changed): void {
    for (const reflector of this.#resources.values()) {
      const tell = (object: UntypedObject) =>
        changed(keyOf(object), reflector.hasSynced() ? 'asked' : 'seen');
      reflector.addHandlers({
        added: tell,
        deleted: tell,
        updated: (object, old) => {
          // A status write ends its pass; its echo says nothing new.
          if (isEcho(object, old)) return;
          if (isSameWish(object, old)) changed(keyOf(object), 'seen');
          else tell(object);
        },
      });
    }
  }

  /** Calls back with the key of each custom resource that something changed for. */
  onChange(changed: Changed): void {
    this.#changed.push(changed);
    this.onResourceChange(changed);
    for (const reflector of this.#resources.values()) {
      reflector.addHandlers({
        added: (object) => {
          this.#tellClaimants(wantedHost(object['spec']));
          this.#tellRivals(object);
        },
        updated: (object, old) => {
          this.#tellRivals(object);
          const [now, before] = [wantedHost(object['spec']), wantedHost(old['spec'])];
          if (now === before) return;
          this.#tellClaimants(before);
          this.#tellClaimants(now);
        },
        deleted: (object) => {
          this.#tellClaimants(wantedHost(object['spec']));
          this.#tellRivals(object);
        },
      });
    }
    for (const byNamespace of this.#children.values()) {
      for (const reflector of byNamespace.values()) reflector.addHandlers(telling(changed, appKeys));
    }
  }

  /**
   * Watches one more kind, from when its cache is filled; then every resource is told of as changed.
   * @throws when the signal fires before that: the kind is not watched
   */
  async watch(kind: ChildKindName, signal: AbortSignal): Promise<void> {
    const reflectors = [...childReflectors(this.#options, kind)];
    for (const [, reflector] of reflectors) {
      for (const changed of this.#changed) reflector.addHandlers(telling(changed, appKeys));
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
    this.#tellAll();
  }

  /** Forgets a kind that the cluster has no more, and tells of every resource as changed. */
  async unwatch(kind: ChildKindName): Promise<void> {
    const reflectors = [...(this.#children.get(kind)?.values() ?? [])];
    this.#children.delete(kind);
    this.#tellAll();
    await Promise.all(reflectors.map((reflector) => reflector.stop()));
  }

  watches(kind: ChildKindName): boolean {
    return this.#children.has(kind);
  }

  /** Keys of the custom resources that ask for a build. */
  building(): string[] {
    return [...this.#resources.values()].flatMap(({ store }) => store.keysByIndex(BY_BUILD, WITH_BUILD));
  }

  /** Which custom resource is there, without looking into it. */
  versionOf(key: string): ObjectVersion | undefined {
    return this.#in(this.#resources, key.slice(0, key.indexOf('/')))?.store.versionOf(key);
  }

  /** Whose custom resource it is. One that is not known (yet) counts as its namespace's. */
  tenantOf(key: string): string {
    return this.#tenants.get(key) ?? key.slice(0, key.indexOf('/'));
  }

  /** How many custom resources of this namespace have this identity value. */
  countOf(namespace: string, value: string): number {
    const key = `${namespace}/${value}`;
    return this.#in(this.#resources, namespace)?.store.keysByIndex(BY_IDENTITY, key).length ?? 0;
  }

  /** What becomes of one resource decides whether another one may use the same identity. */
  #tellRivals(object: UntypedObject): void {
    const store = this.#in(this.#resources, object.metadata.namespace)?.store;
    const own = keyOf(object);
    const keys = identityKeys(object).flatMap((key) => store?.keysByIndex(BY_IDENTITY, key) ?? []);
    this.#tell(keys.filter((key) => key !== own));
  }

  /** Who wants a host looks anew when another one comes to want it, or wants it no more. */
  #tellClaimants(host: string | null): void {
    if (host === null) return;
    const keys = this.resourcesOfHost(host).map(keyOf);
    this.#tell(keys);
  }

  #tellAll(): void {
    this.#tell([...this.#resources.values()].flatMap(({ store }) => [...store.keys()]));
  }

  #tell(keys: readonly string[]): void {
    for (const changed of this.#changed) for (const key of keys) changed(key, 'seen');
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
  stats(): WatchStats[] {
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
