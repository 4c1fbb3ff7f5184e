/** O7: fields that another manager has set on Berth's objects. */

import { isKubeError } from '../../../src/cluster/kube/client/errors.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES, type Resource } from '../../../src/cluster/kube/client/resources.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { SENTINEL_LABEL } from '../../../src/workloads/objects/secret-sentinel.ts';
import { MADE_KINDS } from '../kinds.ts';
import type { FaultWorld } from '../world.ts';

const KEY = 'faults.example/seen-by';
const VALUE = 'another';

/** A field of the spec that Berth does not set. */
const FIELD = 'sessionAffinity';
const CHOICE = 'ClientIP';
const hasField = ({ kind }: Pick<Resource, 'kind'>) => kind === RESOURCES.Service.kind;

/** Excluded: revisions of a StatefulSet, and the secret sentinel, which is recreated together with a Secret. */
function isMarked({ kind, metadata }: UntypedObject): boolean {
  if (kind !== RESOURCES.ControllerRevision.kind) return true;
  const { labels, ownerReferences = [] } = metadata;
  return (
    labels?.[SENTINEL_LABEL] === undefined &&
    !ownerReferences.some((owner) => owner.kind === RESOURCES.StatefulSet.kind)
  );
}

interface Mark {
  readonly resource: Resource;
  readonly name: string;
  readonly uid: string;
}

const marks = new WeakMap<FaultWorld, Mark[]>();

/** As another field manager, sets a label and an annotation on every object of a deployment, and a field on its Services. */
export async function markForeign(world: FaultWorld, id: string): Promise<void> {
  const { namespace, admin } = world;
  const own = marks.get(world) ?? [];
  marks.set(world, own);
  const labelSelector = `${LABELS.deploymentId}=${id}`;
  for (const resource of MADE_KINDS) {
    const { items } = await admin.listAll(resource, { namespace, labelSelector });
    for (const { metadata } of items.filter(isMarked)) {
      const change = {
        metadata: { labels: { [KEY]: VALUE }, annotations: { [KEY]: VALUE } },
        ...(hasField(resource) ? { spec: { [FIELD]: CHOICE } } : {}),
      };
      await admin.patch(resource, { namespace, name: metadata.name }, change, { fieldManager: 'another' });
      own.push({ resource, name: metadata.name, uid: metadata.uid ?? '' });
    }
  }
}

export interface ForeignFieldCheck {
  /** How many objects were marked. */
  readonly marked: number;
  /** How many of the marked objects still exist with the same uid. */
  readonly checked: number;
  /** The checked objects that have lost a mark. */
  readonly lost: readonly string[];
}

/** Checks the marks on all objects that still exist. */
export async function checkForeignFields(world: FaultWorld): Promise<ForeignFieldCheck> {
  const lost: string[] = [];
  let checked = 0;
  const own = marks.get(world) ?? [];
  for (const { resource, name, uid } of own) {
    const found = await world.admin.find(resource, { namespace: world.namespace, name }).catch((error) => {
      if (isKubeError(error, 'not_found')) return undefined;
      throw error;
    });
    if (found === undefined || found.metadata.uid !== uid) continue;
    checked += 1;
    const { labels, annotations } = found.metadata;
    if (labels?.[KEY] !== VALUE || annotations?.[KEY] !== VALUE) lost.push(`${resource.kind} ${name}`);
    const { [FIELD]: choice } = (found['spec'] ?? {}) as Record<string, unknown>;
    if (hasField(resource) && choice !== CHOICE) lost.push(`${resource.kind} ${name}: ${FIELD} ${choice}`);
  }
  return { marked: own.length, checked, lost };
}

/** Removes all marks of a world from memory, before the next plan uses the world. */
export function forgetMarks(world: FaultWorld): void {
  marks.delete(world);
}
