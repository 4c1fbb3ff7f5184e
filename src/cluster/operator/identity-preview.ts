import { hubNameOfObject, LABELS, tenantNamespace } from '../../contract/resource/names.ts';
import { controllerOf, type UntypedObject } from '../kube/client/object.ts';
import { holderOf } from './access/identity.ts';
import { identityKeys } from './observe/cache-keys.ts';
import { LIKE_A_UID } from './observe/ownership.ts';

/** States how the identity rules of decision 0061 affect a resource that an earlier version of Berth managed. */

interface Spec {
  readonly deploymentId?: string;
  readonly tenantId?: string;
  readonly database?: { readonly volumePolicy?: string };
}

/**
 * For hosting mode `cloud`. Returns one sentence when a deployment of the API is outside the namespace of its tenant.
 * The chart's admission policy for the listener rejects writes there. Pure.
 */
export function namespaceChanges({ metadata: { namespace }, ...object }: UntypedObject): string[] {
  const { tenantId, deploymentId } = (object['spec'] ?? {}) as Spec;
  const isRefused =
    tenantId !== undefined && deploymentId !== undefined && namespace !== tenantNamespace(tenantId);
  return isRefused
    ? [
        `is outside ${tenantNamespace(tenantId)}: the cluster rejects the listener's writes (ApplyRefused) unless ` +
          `rbac.listenerNamespaces names ${namespace}`,
      ]
    : [];
}

/** Groups the custom resources by identity, as `namespace/value`. */
export function byIdentity(resources: readonly UntypedObject[]): ReadonlyMap<string, UntypedObject[]> {
  const found = new Map<string, UntypedObject[]>();
  for (const resource of resources)
    for (const key of identityKeys(resource)) {
      const same = found.get(key);
      if (same === undefined) found.set(key, [resource]);
      else same.push(resource);
    }
  return found;
}

/**
 * One sentence for each change; empty when nothing changes. Pure.
 * @param keptOf returns the volume claims and stored templates for the name of a resource
 */
export function identityChanges(
  resource: UntypedObject,
  identities: ReadonlyMap<string, readonly UntypedObject[]>,
  keptOf: (name: string) => readonly UntypedObject[],
): string[] {
  const { deploymentId, database } = (resource['spec'] ?? {}) as Spec;
  const { name, uid } = resource.metadata;
  const candidates = identityKeys(resource).flatMap((key) => identities.get(key) ?? []);
  const names = candidates.map(({ metadata }) => metadata.name);
  const rivals = names.filter((other) => other !== name);
  const isOfUid = deploymentId === undefined;
  const hub = hubNameOfObject(name);
  const [foreign] = keptOf(name).filter((object) => {
    const id = object.metadata.labels?.[LABELS.deploymentId];
    return controllerOf(object) === undefined && id !== uid && !LIKE_A_UID.test(id ?? '');
  });
  return [
    ...(hub !== null
      ? [
          `has a name that is reserved for an object of the deployment ${hub}: it keeps running, but another ` +
            `resource of this name would be rejected with the reason Conflict`,
        ]
      : []),
    ...(rivals.length > 0 && !isOfUid
      ? [
          `shares its identity with ${rivals.join(', ')}: ${holderOf(candidates, names.flatMap(keptOf))} keeps the ` +
            `identity, unless the listener claims it for another resource; all other resources are stopped with the ` +
            `reason Conflict`,
        ]
      : []),
    ...(!isOfUid && database?.volumePolicy === 'Delete'
      ? [
          'spec.database.volumePolicy Delete has no effect together with spec.deploymentId: the data is retained',
        ]
      : []),
    ...(isOfUid && foreign !== undefined
      ? [
          `uses ${foreign.kind} ${foreign.metadata.name} of another deployment with the same name: it keeps this ` +
            `object, but another resource of this name would not get it`,
        ]
      : []),
  ];
}
