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
  /** With a database of the tenant: size of the volume that was kept, 0: none. null: Berth runs the database. */
  readonly keptGi?: number | null;
  /** Its expansion is not finished, so the capacity is below the requested size, even if the listener does not report it. */
  readonly expanding?: boolean;
  /** Sizes that were in effect before. */
  readonly former?: readonly FormerSize[];
  /** The generation that the last report is about; 0: nothing was reported. */
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
 * What a change from one stored spec to another may not do: shrink the database's volume. Compares what is in effect, so a
 * default cannot be undercut either. An expansion that is refused or not finished can be lowered to the capacity, and to a
 * size that was in effect before. Where an earlier listener reports no capacity, it can be lowered to any size: the operator
 * shrinks no volume.
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
  const former = below.length === 0 ? '' : `; ${below.join(' and ')}, as before, is accepted too`;
  return [
    {
      loc: ['db_storage_gi'],
      msg: `must not shrink: it is ${floor}, ${wanted} was asked for${capacity}${former}`,
      type: 'storage_shrinks',
    },
  ];
}

/**
 * The former sizes to be stored with a change; undefined: the size stays.
 * @param external the database is the tenant's own after the change, so no size of a volume changes
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
