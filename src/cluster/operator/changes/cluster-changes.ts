import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { contentHash } from '../../../domain/core/hash.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import { type Difference, desiredHash, differenceOf } from '../../kube/compare/compare.ts';
import { isImmutable } from '../../kube/compare/compare-rules.ts';
import { shortened } from '../status/conditions.ts';
import { isSafeChange } from './safe-fields.ts';

/**
 * Changes that a mutating admission policy or webhook makes to an apply. The API server responds with the object as
 * stored. If the stored object differs from the applied one, a repeated write has the same result. Drift is different,
 * because it occurs later, and an apply corrects it.
 */
export interface ClusterChange {
  /** Hash of the applied object and of its changes. Different changes have different hashes. */
  readonly hash: string;
  /** Whether the pods still run the requested revision. */
  readonly isSafe: boolean;
  /**
   * The changed fields, as a sentence without its subject. The sentence contains values only if they cannot be secret.
   */
  readonly fields: string;
  /** Whether labels or owner are removed, so that the caches may not show the object. */
  readonly hides?: boolean;
}

/** A response to a write, in the form that decisions use. */
export interface KnownResponse extends ClusterChange {
  /** Whether the next attempt is due. */
  readonly isDue: boolean;
}

/** Key for the number of pods of a workload. */
export const replicasKey = (id: string): string => `${id} replicas`;

const SHOWN = 4;

/**
 * The cluster's change of an applied object, derived from the differences between the response and the applied object;
 * undefined: no change.
 * @param kept safe fields that the cluster added. These fields are reported, but are not part of the hash
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
  'which cannot be changed later. When the policy is removed, Berth creates the object again, and its pods serve ' +
  'until they are replaced';

/** Whether this change names the field as added. */
export function namesAddition(
  change: Pick<ClusterChange, 'fields'>,
  { path }: Pick<Difference, 'path'>,
): boolean {
  return change.fields.split(', ').includes(`${path} is added`);
}

/**
 * Whether the cluster changed the annotation of the applied hash. In the response to an apply, the annotation cannot
 * differ otherwise.
 */
function reworded(path: string, why: string): string {
  return path === `metadata.annotations[${ANNOTATIONS.appliedHash}]` ? 'is not kept' : why;
}

/** A hash that is equal for equal differences of the same desired object. */
export function changeHash(object: KubeObject, differences: readonly Difference[]): string {
  const desired = desiredHash(object, ANNOTATIONS.appliedHash);
  return contentHash({ desired, fields: differences.map(({ path, why, present }) => [path, why, present]) });
}

/** The cluster's change of the written replicas; undefined: no change. */
export function replicasChange(wanted: number, present: number): ClusterChange | undefined {
  if (wanted === present) return undefined;
  const difference = differenceOf('spec.replicas', `is ${present}, should be ${wanted}`, wanted, present);
  return {
    hash: contentHash({ wanted, present }),
    isSafe: false,
    fields: `${difference.path} ${difference.why}`,
  };
}
