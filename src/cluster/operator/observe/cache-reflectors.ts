import type { Logger } from '../../../domain/core/logger.ts';
import { Reflector } from '../../kube/cache/reflector.ts';
import type { ReflectorOptions } from '../../kube/cache/reflector-options.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES, type Resource } from '../../kube/client/resources.ts';
import { CHILD_KINDS, type ChildKindName } from '../kinds.ts';
import { appKeys, buildKeys, hostKeys, identityKeys, keptKeys } from './cache-keys.ts';
import { transformChild, transformPod, transformResource, transformTemplates } from './cached-fields.ts';

export interface ReflectorsOptions {
  readonly client: KubeClient;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  readonly logger: Logger;
}

/** Reflectors of one kind: one for all namespaces, or one per namespace. */
export type ByNamespace = ReadonlyMap<string, Reflector<UntypedObject>>;
/** Key of the reflector of all namespaces. */
export const ALL = '';

/** Names of the indexes. */
export const BY_APP = 'app';
export const BY_IDENTITY = 'identity';
export const BY_HOST = 'host';
export const BY_BUILD = 'build';

const TRANSFORMS: Partial<Record<ChildKindName, (object: UntypedObject) => UntypedObject>> = {
  Pod: transformPod as (object: UntypedObject) => UntypedObject,
  ControllerRevision: transformTemplates,
};

/** Watched kinds that outlive their custom resource. */
export const KEPT_KINDS: readonly ChildKindName[] = ['PersistentVolumeClaim', 'ControllerRevision'];

/**
 * Uncompressed objects per kind. The number is several times the number of workers. An idle operator reads no objects.
 */
const MAX_PLAIN = 64;
/** Minimum per kind and namespace, for an operator with many namespaces. */
const MIN_PLAIN = 4;

/** Reflectors of the custom resources. */
export function resourceReflectors(options: ReflectorsOptions): ByNamespace {
  return reflectors(options, RESOURCES.ManagedDeployment, {
    transform: transformResource,
    indexes: { [BY_IDENTITY]: identityKeys, [BY_HOST]: hostKeys, [BY_BUILD]: buildKeys },
  });
}

/** Reflectors of one kind of owned objects. */
export function childReflectors(options: ReflectorsOptions, kind: ChildKindName): ByNamespace {
  const { resource, labelSelector } = CHILD_KINDS[kind];
  return reflectors(options, resource, {
    labelSelector,
    transform: TRANSFORMS[kind] ?? transformChild,
    ...(KEPT_KINDS.includes(kind) ? { indexes: { [BY_IDENTITY]: keptKeys } } : {}),
  });
}

function reflectors(
  options: ReflectorsOptions,
  resource: Resource,
  more: Pick<CachedKind, 'labelSelector' | 'transform' | 'indexes'>,
): ByNamespace {
  return reflectorsOf(options, { resource, ...more, indexes: { [BY_APP]: appKeys, ...more.indexes } });
}

type CachedKind = Pick<
  ReflectorOptions<UntypedObject>,
  'resource' | 'labelSelector' | 'transform' | 'indexes'
>;

/** The reflectors of one kind, in the namespaces that the operator watches. */
export function reflectorsOf(
  { client, namespaces, logger }: ReflectorsOptions,
  kind: CachedKind,
): ByNamespace {
  const each = Math.floor(MAX_PLAIN / Math.max(1, namespaces.length));
  const maxUncompressed = Math.max(MIN_PLAIN, each);
  return new Map(
    (namespaces.length === 0 ? [ALL] : namespaces).map((namespace) => [
      namespace,
      new Reflector<UntypedObject>({
        client,
        logger,
        maxUncompressed,
        ...(namespace === ALL ? {} : { namespace }),
        ...kind,
      }),
    ]),
  );
}

/** The reflector that has the object with this key (`namespace/name`). */
export function reflectorOf(byNamespace: ByNamespace, key: string): Reflector<UntypedObject> | undefined {
  return byNamespace.get(ALL) ?? byNamespace.get(key.slice(0, key.indexOf('/')));
}

/** Calls back with each object that was added, changed or deleted. */
export function onEachChange(byNamespace: ByNamespace, notify: (object: UntypedObject) => void): void {
  for (const reflector of byNamespace.values())
    reflector.addHandlers({ added: notify, updated: notify, deleted: notify });
}
