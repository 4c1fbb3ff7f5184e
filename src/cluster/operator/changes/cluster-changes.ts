import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { type Difference, desiredHash, differenceOf } from '../../kube/compare/compare.ts';
import { shortened } from '../status/conditions.ts';
import { isImmutable } from './immutable-fields.ts';
import { isSafeChange } from './safe-fields.ts';

/**
 * The API server answers an apply with the object as it stored it. Where the answer differs from what was applied, a
 * mutating admission policy or webhook has changed it: writing the same again leads to the same. So such a change is
 * told from drift, which somebody makes later and an apply puts right.
 */
export interface ClusterChange {
  /** Of what was applied and of what the cluster made of it: another change has another one. */
  readonly hash: string;
  /** What runs is still what was asked for. */
  readonly isSafe: boolean;
  /** The fields, as a sentence without its subject; names values only where they cannot be secret. */
  readonly fields: string;
  /** Labels or the owner are not kept, so that the object may be out of sight although it is there. */
  readonly hides?: boolean;
}

const SHOWN = 4;

/**
 * What the cluster made of an object that was applied, by how its answer differs; undefined: nothing.
 * @param kept fields that the cluster has added and that are safe; they are named, and are no part of the hash
 */
export function clusterChange(
  object: KubeObject,
  differences: readonly Difference[],
  kept: readonly Difference[] = [],
): ClusterChange | undefined {
  const all = [...differences, ...kept];
  if (all.length === 0) return undefined;
  const shown = all.slice(0, SHOWN).map(({ path, why }) => `${path} ${reworded(path, why)}`);
  const more = all.length > SHOWN ? [`${all.length - SHOWN} more`] : [];
  const fixed = differences.some((difference) => isImmutable(object, difference)) ? [UNCHANGEABLE] : [];
  return {
    hash: changeHash(object, differences),
    isSafe: differences.every((difference) => isSafeChange(object, difference)),
    fields: shortened([...shown, ...more, ...fixed].join(', '), 700),
    hides: differences.some(({ path }) => /^metadata\.(?:labels|ownerReferences)\b/.test(path)),
  };
}

const UNCHANGEABLE =
  'which cannot be changed later: once the policy is gone, Berth creates the object again, and its pods serve until they are replaced';

/** Whether this answer of the cluster has named the field as added. */
export function namesAddition(
  change: Pick<ClusterChange, 'fields'>,
  { path }: Pick<Difference, 'path'>,
): boolean {
  return change.fields.split(', ').includes(`${path} is added`);
}

/** Compared with the answer to an apply, our note of what was applied can only have been changed. */
function reworded(path: string, why: string): string {
  return path === `metadata.annotations[${ANNOTATIONS.appliedHash}]` ? 'is not kept' : why;
}

/** The same for the same differences of the same wanted object. */
export function changeHash(object: KubeObject, differences: readonly Difference[]): string {
  const desired = desiredHash(object, ANNOTATIONS.appliedHash);
  return contentHash({ desired, fields: differences.map(({ path, why, present }) => [path, why, present]) });
}

/** What the cluster made of the number of pods that was written; undefined: nothing. */
export function replicasChange(wanted: number, present: number): ClusterChange | undefined {
  if (wanted === present) return undefined;
  const difference = differenceOf('spec.replicas', `is ${present}, should be ${wanted}`, wanted, present);
  return {
    hash: contentHash({ wanted, present }),
    isSafe: false,
    fields: `${difference.path} ${difference.why}`,
  };
}
