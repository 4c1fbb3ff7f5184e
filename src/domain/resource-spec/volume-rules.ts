import type { DeploymentType } from '../deployment/source.ts';
import { effectiveSpec } from './effective-spec.ts';
import { acceptedAgain, type FormerSize, knownCapacity, withFormerSize } from './former-sizes.ts';
import type { ResourceSpec } from './resource-spec.ts';
import type { SpecIssue } from './spec-rules.ts';

/** Rules for changes of the size of the database volume. */

/** Known facts about the database volume when a change is checked. */
export interface KnownVolume {
  /** The last reported capacity in Gi, rounded up. null: equal to the requested size, or not known. */
  readonly capacityGi?: number | null;
  /**
   * Size of the volume that was kept while the tenant provides the database; 0: no volume was kept. null: Berth runs
   * the database.
   */
  readonly keptGi?: number | null;
  /**
   * Whether an expansion is not finished, so that the capacity is below the requested size, even if the listener does
   * not report it.
   */
  readonly expanding?: boolean;
  /** Sizes that were in effect before. */
  readonly former?: readonly FormerSize[];
  /** The generation of the last report; 0: no report was received. */
  readonly observedGeneration?: number;
}

function sizesKnown(before: ResourceSpec, deploymentType: DeploymentType | null, known: KnownVolume) {
  const { capacityGi = null, keptGi = null, expanding = false, former = [], observedGeneration = 0 } = known;
  return {
    sizeGi: keptGi ?? effectiveSpec(before, deploymentType).db_storage_gi,
    former,
    observedGeneration,
    capacityGi: capacityGi ?? (expanding ? 0 : null),
  };
}

/**
 * Rejects a change that would shrink the database's volume. Compares effective sizes, so a value below the default is
 * also rejected. After an expansion that is rejected or not finished, the size can be lowered to the capacity, or to a
 * size that was in effect before. If an earlier listener reports no capacity, the size can be lowered to any value,
 * because the operator shrinks no volume.
 */
export function specChangeIssues(
  before: ResourceSpec,
  after: ResourceSpec,
  deploymentType: DeploymentType | null,
  known: KnownVolume = {},
): SpecIssue[] {
  const sizes = sizesKnown(before, deploymentType, known);
  const floor = Math.min(sizes.sizeGi, knownCapacity(sizes));
  const wanted = effectiveSpec(after, deploymentType).db_storage_gi;
  const again = acceptedAgain(sizes).map(({ gi }) => gi);
  if (wanted >= floor || again.includes(wanted)) return [];
  const { capacityGi = null } = known;
  const capacity = capacityGi === null ? '' : `; the capacity of the volume is ${capacityGi} Gi`;
  const below = [...new Set(again)].filter((gi) => gi < floor).sort((a, b) => a - b);
  const former = below.length === 0 ? '' : `; the former size ${below.join(' or ')} is also accepted`;
  return [
    {
      loc: ['db_storage_gi'],
      msg:
        `must not be less than ${floor}, because a volume cannot shrink, but ${wanted} was ` +
        `requested${capacity}${former}`,
      type: 'storage_shrinks',
    },
  ];
}

/**
 * The former sizes to store with a change; undefined: the size does not change.
 * @param external whether the tenant provides the database after the change, so that no size of a volume changes
 * @param generation the first generation of the change
 */
export function formerSizesAfter(
  before: ResourceSpec,
  after: { readonly spec: ResourceSpec; readonly external: boolean; readonly generation: number },
  deploymentType: DeploymentType | null,
  known: KnownVolume,
): FormerSize[] | undefined {
  const sizes = sizesKnown(before, deploymentType, known);
  const isSame = effectiveSpec(after.spec, deploymentType).db_storage_gi === sizes.sizeGi;
  if (after.external || isSame || sizes.sizeGi === 0) return undefined;
  return withFormerSize(sizes, after.generation);
}
