import { hubNameOfObject, LABELS } from '../contract/names.ts';
import { controllerOf, type UntypedObject } from '../kube/object.ts';
import { identityKeys } from './cache-keys.ts';
import { LIKE_A_UID } from './ownership.ts';

/** What the rules of decision 0061 change for a resource that an earlier version has served. */

interface Spec {
  readonly deploymentId?: string;
  readonly database?: { readonly volumePolicy?: string };
}

/** The custom resources by their identity, as `namespace/value`. */
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
 * One sentence for each change; empty: nothing changes. Pure.
 * @param kept volume claims and stored templates of its name, as far as they were read
 */
export function identityChanges(
  resource: UntypedObject,
  identities: ReadonlyMap<string, readonly UntypedObject[]>,
  kept: readonly UntypedObject[],
): string[] {
  const { deploymentId, database } = (resource['spec'] ?? {}) as Spec;
  const { name, uid } = resource.metadata;
  const rivals = identityKeys(resource)
    .flatMap((key) => identities.get(key) ?? [])
    .map(({ metadata }) => metadata.name)
    .filter((other) => other !== name);
  const isOfUid = deploymentId === undefined;
  const hub = hubNameOfObject(name);
  const [foreign] = kept.filter((object) => {
    const id = object.metadata.labels?.[LABELS.deploymentId];
    return controllerOf(object) === undefined && id !== uid && !LIKE_A_UID.test(id ?? '');
  });
  return [
    ...(hub !== null
      ? [
          `has a name that is reserved for an object of the deployment ${hub}: it keeps running, but another resource of this name would be refused with the reason Conflict`,
        ]
      : []),
    ...(rivals.length > 0 && !isOfUid
      ? [
          `shares its identity with ${rivals.join(', ')}: one of them will be stopped with the reason Conflict`,
        ]
      : []),
    ...(!isOfUid && database?.volumePolicy === 'Delete'
      ? ['spec.database.volumePolicy Delete has no effect beside spec.deploymentId: the data is retained']
      : []),
    ...(isOfUid && foreign !== undefined
      ? [
          `uses ${foreign.kind} ${foreign.metadata.name} of another deployment of its name: it keeps it, but another resource of this name would not get it`,
        ]
      : []),
  ];
}
