import type { KubeObject } from '../client/object.ts';
import type { ReflectorOptions } from './reflector-options.ts';

/**
 * The transform that a reflector applies to each object before it caches it. The default transform removes the managed
 * fields. If a transform throws, only the managed fields are removed, because the stream must not stop.
 */
export function cacheTransform<T extends KubeObject>({
  transform = dropManagedFields,
  logger,
  resource,
}: Pick<ReflectorOptions<T>, 'transform' | 'logger' | 'resource'>): (object: T) => T {
  return (object) => {
    try {
      return transform(object);
    } catch (error) {
      const fields = { err: error, kind: resource.kind };
      logger.error(
        fields,
        'failed to transform an object for the cache; only its managed fields are removed',
      );
      return dropManagedFields(object);
    }
  };
}

function dropManagedFields<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  return object;
}
