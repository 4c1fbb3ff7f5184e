import { NOT_OBSERVED } from '../../../contract/resource/definition.ts';
import {
  currentSpec,
  currentStatus,
  isFormerSpec,
  type StatusNames,
  statusNames,
  statusWithBothNames,
} from '../../../contract/resource/former-names.ts';
import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import type { KubeObject } from '../../kube/client/object.ts';
import type { ObservedResource } from '../observed.ts';

/**
 * Custom resources that the previous version stored. The operator works with the current names. A resource whose spec
 * has the former names gets a status with the names of both versions, because a listener of the previous version may
 * read it. When the listener writes the spec again, the status gets only the current names (decision 0082).
 */

/** The names that a resource has in the cluster. */
export interface StoredNames {
  readonly spec: 'current' | 'former';
  readonly status: StatusNames;
}

type Stored = KubeObject & { spec?: unknown; status?: unknown };

/** Without the status that the API server adds to a resource that has none. */
function observedPart<T extends KubeObject>(object: T): T & Stored {
  const { status, ...others } = object as T & Stored;
  const { observedGeneration } = (status ?? {}) as { observedGeneration?: unknown };
  return observedGeneration === NOT_OBSERVED ? (others as T & Stored) : object;
}

/** The resource with the names of this version. A resource that has these names is returned unchanged. */
export function withCurrentNames<T extends KubeObject>(object: T): T {
  const observed = observedPart(object);
  const { spec, status } = observed;
  const names: StoredNames = {
    spec: isFormerSpec(spec) ? 'former' : 'current',
    status: statusNames(status),
  };
  const named = currentSpec<ObservedResource['spec'] | undefined>(spec);
  if (named === spec && names.status === 'current') return observed;
  return {
    ...observed,
    spec: named,
    ...(status === undefined ? {} : { status: readStatus(currentStatus(status), named, names) }),
    storedNames: names,
  };
}

/**
 * An operator of the previous version finds no generation in a spec with the current names, and reports 0. The status is
 * then read as if the generation were lost.
 */
function readStatus(
  status: ManagedDeploymentStatus,
  spec: ObservedResource['spec'] | undefined,
  names: StoredNames,
): ManagedDeploymentStatus {
  if (names.spec === 'former' || names.status !== 'former' || spec === undefined) return status;
  const { failed, recordGeneration } = spec;
  const observedRecordGeneration = failed?.observedRecordGeneration ?? recordGeneration;
  return observedRecordGeneration === undefined ? status : { ...status, observedRecordGeneration };
}

type Named = Pick<ObservedResource, 'spec' | 'storedNames'>;

/** Only resources of a hub are read by listeners. */
const needsBothNames = ({ spec, storedNames }: Named) =>
  storedNames?.spec === 'former' && spec?.deploymentId !== undefined;

/** The status to store, with the names that this resource needs. */
export function statusToStore(resource: Named, status: ManagedDeploymentStatus): ManagedDeploymentStatus {
  return needsBothNames(resource) ? statusWithBothNames(status) : status;
}

/** Whether the stored status has other names than it would be written with. */
export function hasOtherNames({ status, ...resource }: Named & Pick<ObservedResource, 'status'>): boolean {
  if (status === undefined) return false;
  const wanted = needsBothNames(resource) ? 'both' : 'current';
  if ((resource.storedNames?.status ?? 'current') === wanted) return false;
  // A status without any renamed field is the same with the names of either version.
  return statusWithBothNames(status) !== status;
}

/** The names of a resource after a write of its status. */
export function namesAfterWrite(resource: Named): Pick<ObservedResource, 'storedNames'> {
  if (resource.storedNames === undefined) return {};
  return {
    storedNames: { ...resource.storedNames, status: needsBothNames(resource) ? 'both' : 'current' },
  };
}
