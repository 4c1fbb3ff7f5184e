import type { KubeObject } from '../client/object.ts';
import type { ReflectorOptions } from './reflector-options.ts';

/**
 * What a reflector does with each object before it keeps it: its transform, else the managed fields go. A transform that
 * throws must not stop the stream: the object is then kept as it came.
 */
export function slimming<T extends KubeObject>({
  transform = dropManagedFields,
  logger,
  resource,
}: Pick<ReflectorOptions<T>, 'transform' | 'logger' | 'resource'>): (object: T) => T {
  return (object) => {
    try {
      return transform(object);
    } catch (error) {
      const fields = { err: error, kind: resource.kind };
      logger.error(fields, 'failed to slim an object for the cache; kept whole');
      return dropManagedFields(object);
    }
  };
}

function dropManagedFields<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  return object;
}
