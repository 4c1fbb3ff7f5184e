import { identityValue } from '../../../workloads/labels.ts';
import { isSameVersion, type ObjectVersion } from '../../kube/cache/compressed-store.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { readResource } from '../observe/gather.ts';
import { isAccepted, isBlockedByIdentity } from '../observe/ownership.ts';
import type { ObservedResource } from '../observed.ts';

/** Cached custom resources. */
export interface CachedResources {
  /** Keys of the resources that request a build. */
  building(): string[];
  versionOf(key: string): ObjectVersion | undefined;
  resource(key: string): UntypedObject | undefined;
  countOf(namespace: string, value: string): number;
}

interface Known {
  readonly version: ObjectVersion;
  /** null: this version cannot parse the spec. */
  readonly resource: ObservedResource | null;
}

/**
 * The parsed custom resources that request a build. Each reconcile of the builds reads all of these resources.
 * Unchanged resources are kept, because the cache would otherwise decompress all of them each time. The number of these
 * resources is bounded by the builds that wait, run or have failed, because a built revision requests no build.
 */
export class WantedResources {
  readonly #cached: CachedResources;
  #known = new Map<string, Known>();

  constructor(cached: CachedResources) {
    this.#cached = cached;
  }

  /** The resources to build, without resources that are being deleted or are copies of a manifest (see identity.ts). */
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

  /** The resource of a key; undefined: it does not exist or cannot be parsed. */
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

  /** Whether the resource may build. Of several resources with one identity, only the accepted resource may. */
  #isToBeBuilt(resource: ObservedResource): boolean {
    const { namespace, deletionTimestamp } = resource.metadata;
    if (deletionTimestamp !== undefined || isBlockedByIdentity(resource.status?.conditions ?? []))
      return false;
    return this.#cached.countOf(namespace, identityValue(resource)) < 2 || isAccepted(resource);
  }
}
