import { identityValue } from '../../../workloads/labels.ts';
import { isSameVersion, type ObjectVersion } from '../../kube/cache/compressed-store.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { readResource } from '../observe/gather.ts';
import { isAccepted, isBlockedByIdentity } from '../observe/ownership.ts';
import type { ObservedResource } from '../observed.ts';

/** The custom resources, as cached. */
export interface CachedResources {
  /** Keys of those that ask for a build. */
  building(): string[];
  versionOf(key: string): ObjectVersion | undefined;
  resource(key: string): UntypedObject | undefined;
  countOf(namespace: string, value: string): number;
}

interface Known {
  readonly version: ObjectVersion;
  /** null: its spec is not one that this version understands. */
  readonly resource: ObservedResource | null;
}

/**
 * The custom resources that ask for a build, parsed. All of them are looked at together, at each change of one: they are
 * kept as long as they ask and are the same, for the cache would unpack each of them at each look. There are as many as
 * wait for a place, run or have failed; what was built asks no more.
 */
export class WantedResources {
  readonly #cached: CachedResources;
  #known = new Map<string, Known>();

  constructor(cached: CachedResources) {
    this.#cached = cached;
  }

  /** Those that are to be built: not on their way out, and no copies of a manifest (see identity.ts). */
  all(): ObservedResource[] {
    const keys = this.#cached.building();
    const known = new Map<string, Known>();
    const wanted = keys.flatMap((key) => {
      const found = this.#find(key);
      if (found === undefined) return [];
      known.set(key, found);
      return found.resource !== null && this.#isToBeBuilt(found.resource) ? [found.resource] : [];
    });
    this.#known = known;
    return wanted;
  }

  /** Of this key, whatever it asks for; undefined: there is none, or none that is understood. */
  of(key: string): ObservedResource | undefined {
    return this.#find(key)?.resource ?? undefined;
  }

  #find(key: string): Known | undefined {
    const version = this.#cached.versionOf(key);
    if (version === undefined) return undefined;
    const before = this.#known.get(key);
    if (before !== undefined && isSameVersion(before.version, version)) return before;
    const object = this.#cached.resource(key);
    const read = object === undefined ? null : readResource(object);
    return { version, resource: typeof read === 'string' ? null : read };
  }

  /** Of several with one identity, the one that the operator has accepted. */
  #isToBeBuilt(resource: ObservedResource): boolean {
    const { namespace, deletionTimestamp } = resource.metadata;
    if (deletionTimestamp !== undefined || isBlockedByIdentity(resource.status?.conditions ?? []))
      return false;
    return this.#cached.countOf(namespace, identityValue(resource)) < 2 || isAccepted(resource);
  }
}
