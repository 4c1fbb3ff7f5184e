import { MAX_MAP_CHARACTERS } from '../../../contract/protocol/object-protocol.ts';
import { type ClusterObject, MAX_OBJECTS, type OmittedObjects } from '../../../domain/core/object-map.ts';
import { hasEnded } from '../../kube/client/object.ts';

/** Selects the objects of a map that fit into a message, so that no kind crowds out another one. Pure. */

/** All objects of a kind that were read. */
export interface KindObjects {
  readonly kind: ClusterObject['kind'];
  readonly objects: readonly ClusterObject[];
  /** Whether the cluster has more objects of the kind. */
  readonly hasMore: boolean;
}

/** Objects that explain a problem come first. Pods that have ended come last: there can be thousands of them. */
function rankOf({ state, pod }: ClusterObject): number {
  if (pod !== undefined && hasEnded({ status: pod })) return 3;
  if (state === 'inactive') return 2;
  return state === 'ready' ? 1 : 0;
}

const timeOf = ({ created_at: at }: ClusterObject) => Date.parse(at ?? '') || 0;

const byImportance = (objects: readonly ClusterObject[]): ClusterObject[] =>
  objects.toSorted((a, b) => rankOf(a) - rankOf(b) || timeOf(b) - timeOf(a));

/**
 * Takes one object of each kind in turn, the most important first, while there is room. A kind whose next object does not
 * fit gets no more objects.
 */
function taken(kinds: readonly KindObjects[]): ReadonlySet<ClusterObject> {
  const fits = new Set<ClusterObject>();
  let room = MAX_MAP_CHARACTERS;
  let open = kinds.map(({ objects }) => byImportance(objects).values());
  while (open.length > 0) {
    open = open.filter((objects) => {
      const { value: object } = objects.next();
      if (object === undefined || fits.size >= MAX_OBJECTS) return false;
      const size = JSON.stringify(object).length;
      if (size > room) return false;
      room -= size;
      fits.add(object);
      return true;
    });
  }
  return fits;
}

/** The objects that fit into a message, in the order in which they were read, and how many of each kind were left out. */
export function selectObjects(kinds: readonly KindObjects[]): {
  objects: ClusterObject[];
  omitted: OmittedObjects[];
} {
  const fits = taken(kinds);
  const omitted = kinds.flatMap(({ kind, objects, hasMore }) => {
    const count = objects.filter((object) => !fits.has(object)).length;
    return count === 0 && !hasMore ? [] : [{ kind, count, exact: !hasMore }];
  });
  return {
    objects: kinds.flatMap(({ objects }) => objects.filter((object) => fits.has(object))),
    omitted,
  };
}
