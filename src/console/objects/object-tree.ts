import type { ClusterObject } from '../api/types.ts';
import { keyOf } from './selection.ts';

/** The objects of a deployment as a tree: each object below the object that controls it. */

export interface Branch {
  readonly object: ClusterObject;
  readonly below: readonly Branch[];
}

/** The tree below the objects without a listed owner. Each object is in it once, also if owners form a circle. */
export function treeOf(objects: readonly ClusterObject[]): Branch[] {
  const listed = new Set(objects.map(keyOf));
  const parentOf = ({ owner }: ClusterObject) =>
    owner !== null && listed.has(keyOf(owner)) ? keyOf(owner) : '';
  const children = Map.groupBy(objects, parentOf);
  const placed = new Set<ClusterObject>();
  const branchesOf = (candidates: readonly ClusterObject[]): Branch[] =>
    candidates.flatMap((object) => {
      if (placed.has(object)) return [];
      placed.add(object);
      return [{ object, below: branchesOf(children.get(keyOf(object)) ?? []) }];
    });
  const tree = branchesOf(children.get('') ?? []);
  return [...tree, ...branchesOf(objects)];
}
