/** O4: objects whose deployment or owner no longer exists. */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { DEPLOYMENT_KINDS } from '../kinds.ts';
import type { FaultWorld } from '../world.ts';

/** One line for each orphan. */
export async function orphans(world: FaultWorld): Promise<string[]> {
  const { admin, namespace } = world;
  const lists = await Promise.all(DEPLOYMENT_KINDS.map((kind) => admin.listAll(kind, { namespace })));
  const objects = lists.flatMap(({ items }) => items);
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  const known = new Set((await world.sql<{ id: string }>('SELECT id FROM deployments')).map(({ id }) => id));
  return objects.flatMap((object) =>
    problemsOf(object, uids, known).map((problem) => `${nameOf(object)}: ${problem}`),
  );
}

const nameOf = ({ kind, metadata }: UntypedObject) => `${kind} ${metadata.name}`;

function problemsOf(
  { metadata }: UntypedObject,
  uids: ReadonlySet<string | undefined>,
  known: ReadonlySet<string>,
): string[] {
  const id = metadata.labels?.[LABELS.deploymentId];
  const owners = metadata.ownerReferences ?? [];
  return [
    ...(id !== undefined && !known.has(id) ? [`its deployment ${id} is not in the database`] : []),
    ...owners
      .filter(({ uid }) => !uids.has(uid))
      .map(({ kind, name }) => `its owner ${kind} ${name} is gone`),
  ];
}
