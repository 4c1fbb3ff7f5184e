/** O2: how often each object was created and deleted, according to watches. */

import { Reflector } from '../../../src/cluster/kube/cache/reflector.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { maskedName } from '../effects.ts';
import { MADE_KINDS } from '../kinds.ts';
import type { FaultWorld } from '../world.ts';

const SYNC_MS = 30_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** One object, from its creation on. */
interface CountedObject {
  readonly kind: string;
  readonly name: string;
  /** What owns it, as `ManagedDeployment shop-1`. */
  readonly owners: readonly string[];
}

export type Counts = ReadonlyMap<string, number>;

/**
 * What a controller of Kubernetes keeps its notes in. One counts once a name, which tells its content: that of StatefulSets
 * writes a lost note again, also while its set is being deleted, as often as the garbage collector is ahead of it. Stored
 * templates and witnesses are of the same kind, and Berth's own: each of them counts.
 */
const isOwnNote = ({ kind, owners }: CountedObject) =>
  kind === RESOURCES.ControllerRevision.kind &&
  owners.some((owner) => owner.startsWith(`${RESOURCES.StatefulSet.kind} `));

/** Counts by the object, as `create Service shop-x-api`: each uid is a creation, and its end a deletion. */
export class ObjectCounts {
  readonly #reflectors: readonly Reflector<UntypedObject>[];
  readonly #born = new Map<string, CountedObject>();
  readonly #ended: CountedObject[] = [];
  readonly #counts = new Map<string, number>();
  readonly #noted = new Set<string>();

  private constructor({ admin: client, namespace }: FaultWorld) {
    this.#reflectors = MADE_KINDS.map(
      (resource) => new Reflector<UntypedObject>({ client, resource, namespace, logger: silent }),
    );
    for (const reflector of this.#reflectors) {
      const { kind } = reflector.resource;
      reflector.addHandlers({
        added: ({ metadata }) => this.#begin(kind, metadata),
        // One that went and came again between two looks.
        updated: ({ metadata }, former) => {
          if (former.metadata.uid === metadata.uid) return this.#know(kind, metadata);
          this.#end(former.metadata);
          this.#begin(kind, metadata);
        },
        deleted: ({ metadata }) => this.#end(metadata),
      });
    }
  }

  /** From now on, of every object of this world. */
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

  /** Some have their owners later. */
  #know(kind: string, metadata: UntypedObject['metadata']): void {
    const { uid = '' } = metadata;
    if (this.#born.has(uid)) this.#born.set(uid, lifeOf(kind, metadata));
  }

  /** What was there before counts for the plan that made it. */
  #end({ uid = '' }: UntypedObject['metadata']): void {
    const object = this.#born.get(uid);
    if (object === undefined) return;
    this.#born.delete(uid);
    this.#ended.push(object);
    this.#add('delete', object);
  }

  #add(what: 'create' | 'delete', object: CountedObject): void {
    const { kind, name } = object;
    if (isOwnNote(object)) {
      const note = `${what} ${kind} ${name}`;
      if (this.#noted.has(note)) return;
      this.#noted.add(note);
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
   * Objects that were deleted and are there again: they were wanted all the time.
   * @param byHand what the plan has deleted, as `services shop-1`; what it owned went with it
   * @param recreates kinds of what changes of the plan take away and bring back
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

/** Unlike `ObjectCounts.recreated`, of what it is given. */
export function recreatedOf(
  { ended, alive }: { readonly ended: readonly CountedObject[]; readonly alive: readonly CountedObject[] },
  byHand: ReadonlySet<string>,
  recreates: readonly string[],
): string[] {
  const there = new Set(alive.map(({ kind, name }) => `${kind} ${name}`));
  const named = new Set(
    [...byHand].map((text) => {
      const [plural = '', name = ''] = text.split(' ');
      return `${MADE_KINDS.find((resource) => resource.plural === plural)?.kind ?? plural} ${name}`;
    }),
  );
  // What a StatefulSet notes for itself comes and goes with it.
  const lines = ended
    .filter((object) => !isOwnNote(object) && !recreates.includes(object.kind))
    .filter(({ kind, name, owners }) => ![`${kind} ${name}`, ...owners].some((what) => named.has(what)))
    .map(({ kind, name }) => `${kind} ${name}`)
    .filter((what) => there.has(what));
  return [...new Set(lines)];
}

/** Lines where two counts differ. */
export function countDifferences(expected: Counts, found: Counts): string[] {
  const keys = [...new Set([...expected.keys(), ...found.keys()])].sort();
  return keys
    .filter((key) => (expected.get(key) ?? 0) !== (found.get(key) ?? 0))
    .map((key) => `${key}: ${found.get(key) ?? 0}, without the fault ${expected.get(key) ?? 0}`);
}
