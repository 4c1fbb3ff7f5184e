import type { FaultWorld } from '../world.ts';

interface PodMetadata {
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Counts the changes of such pods that the operator is told of by its watch, from now on. */
export function countPodChanges(world: FaultWorld, isSuch: (pod: PodMetadata) => boolean): () => number {
  let told = 0;
  world.kubernetes.add({
    match: ({ client, verb, resource }) => client === 'operator' && verb === 'watch' && resource === 'pods',
    fault: {
      kind: 'filter-watch',
      drop: ({ type, object }) => {
        if (type === 'MODIFIED' && isSuch(object.metadata)) told += 1;
        return false;
      },
    },
  });
  return () => told;
}
