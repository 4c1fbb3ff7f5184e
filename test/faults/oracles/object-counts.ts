/** O2: how often each object was created and deleted, according to watches. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { maskedName } from '../effects.ts';
import { MADE_KINDS, TASK_KINDS } from '../kinds.ts';
import type { FaultWorld } from '../world.ts';

/** A Job that is created twice would run its command twice. */
const COUNTED_KINDS = [...MADE_KINDS, ...TASK_KINDS];

const SYNC_MS = 30_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** One object, identified by its uid. */
interface CountedObject {
  readonly kind: string;
  readonly name: string;
  /** The owners, such as `ManagedDeployment shop-1`. */
  readonly owners: readonly string[];
}

export type Counts = ReadonlyMap<string, number>;

/**
 * Whether the object is a ControllerRevision of a StatefulSet. The StatefulSet controller recreates it if it is lost, also
 * while the set is being deleted, and the number of these creations depends on the garbage collector. Its name contains a
 * hash of its content, so each name counts only once. Stored templates and secret sentinels have the same kind, but belong
 * to Berth and all count.
 */
const isStatefulSetRevision = ({ kind, owners }: CountedObject) =>
  kind === RESOURCES.ControllerRevision.kind &&
  owners.some((owner) => owner.startsWith(`${RESOURCES.StatefulSet.kind} `));

/** Counts by object, such as `create Service shop-x-api`. Each new uid is a creation, and its end is a deletion. */
export class ObjectCounts {
  readonly #reflectors: readonly Reflector<UntypedObject>[];
  readonly #born = new Map<string, CountedObject>();
  readonly #ended: CountedObject[] = [];
  readonly #counts = new Map<string, number>();
  readonly #noted = new Set<string>();

  private constructor({ admin: client, namespace }: FaultWorld) {
    this.#reflectors = COUNTED_KINDS.map(
      (resource) => new Reflector<UntypedObject>({ client, resource, namespace, logger: silent }),
    );
    for (const reflector of this.#reflectors) {
      const { kind } = reflector.resource;
      reflector.addHandlers({
        added: ({ metadata }) => this.#begin(kind, metadata),
        // The object was deleted and created again between two events.
        updated: ({ metadata }, former) => {
          if (former.metadata.uid === metadata.uid) return this.#update(kind, metadata);
          this.#end(former.metadata);
          this.#begin(kind, metadata);
        },
        deleted: ({ metadata }) => this.#end(metadata),
      });
    }
  }

  /** Counts from now on, for every object in the namespaces of this world. */
  static async start(world: FaultWorld): Promise<ObjectCounts> {
    const objectCounts = new ObjectCounts(world);
    for (const reflector of objectCounts.#reflectors) reflector.start();
    const signal = AbortSignal.timeout(SYNC_MS);
    await Promise.all(objectCounts.#reflectors.map((reflector) => reflector.waitForSync(signal)));
    return objectCounts;
  }

  #begin(kind: string, metadata: UntypedObject['metadata']): void {
    const object = lifeOf(kind, metadata);
    this.#born.set(metadata.uid ?? '', object);
    this.#add('create', object);
  }

  /** An owner may be set after the creation. */
  #update(kind: string, metadata: UntypedObject['metadata']): void {
    const { uid = '' } = metadata;
    if (this.#born.has(uid)) this.#born.set(uid, lifeOf(kind, metadata));
  }

  /** Deletions of objects that existed before the plan do not count. */
  #end({ uid = '' }: UntypedObject['metadata']): void {
    const object = this.#born.get(uid);
    if (object === undefined) return;
    this.#born.delete(uid);
    this.#ended.push(object);
    this.#add('delete', object);
  }

  #add(what: 'create' | 'delete', object: CountedObject): void {
    const { kind, name } = object;
    if (isStatefulSetRevision(object)) {
      const text = `${what} ${kind} ${name}`;
      if (this.#noted.has(text)) return;
      this.#noted.add(text);
    }
    const key = `${what} ${kind} ${maskedName(name)}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  clear(): void {
    this.#born.clear();
    this.#ended.length = 0;
    this.#noted.clear();
    this.#counts.clear();
  }

  counts(): Counts {
    return new Map(this.#counts);
  }

  /**
   * Objects that were deleted and exist again, although they were desired all the time.
   * @param byHand objects that the plan has deleted, such as `services shop-1`; the objects that they own are excluded too
   * @param recreates kinds of objects that the changes of the plan delete and create again
   */
  recreated(byHand: ReadonlySet<string>, recreates: readonly string[]): string[] {
    return recreatedOf({ ended: this.#ended, alive: [...this.#born.values()] }, byHand, recreates);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }
}

function lifeOf(kind: string, { name, ownerReferences = [] }: UntypedObject['metadata']): CountedObject {
  return { kind, name, owners: ownerReferences.map((owner) => `${owner.kind} ${owner.name}`) };
}

/** As `ObjectCounts.recreated`, for the given objects. */
export function recreatedOf(
  { ended, alive }: { readonly ended: readonly CountedObject[]; readonly alive: readonly CountedObject[] },
  byHand: ReadonlySet<string>,
  recreates: readonly string[],
): string[] {
  const there = new Set(alive.map(({ kind, name }) => `${kind} ${name}`));
  const named = new Set(
    [...byHand].map((text) => {
      const [plural = '', name = ''] = text.split(' ');
      return `${COUNTED_KINDS.find((resource) => resource.plural === plural)?.kind ?? plural} ${name}`;
    }),
  );
  // Kubernetes deletes and recreates the revisions of a StatefulSet together with it.
  const lines = ended
    .filter((object) => !isStatefulSetRevision(object) && !recreates.includes(object.kind))
    .filter(({ kind, name, owners }) => ![`${kind} ${name}`, ...owners].some((what) => named.has(what)))
    .map(({ kind, name }) => `${kind} ${name}`)
    .filter((what) => there.has(what));
  return [...new Set(lines)];
}

/** One line for each object whose number differs. */
export function countDifferences(expected: Counts, found: Counts): string[] {
  const keys = [...new Set([...expected.keys(), ...found.keys()])].sort();
  return keys
    .filter((key) => (expected.get(key) ?? 0) !== (found.get(key) ?? 0))
    .map((key) => `${key}: ${found.get(key) ?? 0}, without the fault ${expected.get(key) ?? 0}`);
}
