import { IDENTITY_STATES, identitySecretName, LABELS, MANAGED_BY } from '../../../contract/resource/names.ts';
import { identityValue } from '../../../workloads/labels.ts';
import { controllerOf, keyOf, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { WriteClient } from '../act/execute.ts';
import { childKindOf } from '../kinds.ts';
import type { Remembered } from '../memory.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { isAccepted } from '../observe/ownership.ts';
import type { ChildObject, Observed, ObservedResource } from '../observed.ts';
import { decideIdentity, type Identity, type IdentityRecord } from './identity.ts';

/** Collects the facts that decide whether a resource may use its identity. */

type View = Pick<ClusterView, 'resourcesOf' | 'children' | 'keptOf'>;

export interface IdentityCheck {
  readonly view: View;
  readonly client: Pick<WriteClient, 'find'>;
  readonly remembered: Pick<Remembered, 'acceptedUid'>;
  readonly signal: AbortSignal;
}

/**
 * Decides whether the resource may use its identity. A resource that was accepted before costs no request.
 * @throws KubeError when the listener's record cannot be read
 */
export async function checkIdentity(observed: Observed, check: IdentityCheck): Promise<Identity> {
  const { resource } = observed;
  const { view, remembered } = check;
  const { uid, namespace } = resource.metadata;
  const value = identityValue(resource);
  const isRecorded = resource.spec.deploymentId !== undefined;
  const accepted = (isAccepted(resource) || remembered.acceptedUid === uid) && !ranByUid(observed);
  if (accepted && !isRecorded) return { kind: 'own' };
  // A uid is a unique identity, so no other check is needed.
  const candidates = isRecorded ? view.resourcesOf(namespace, value) : [];
  if (accepted && candidates.length < 2) return { kind: 'own' };
  const others = candidates.filter(({ metadata }) => metadata.name !== resource.metadata.name);
  const identity = decideIdentity({
    resource,
    accepted,
    candidates,
    kept: isRecorded ? view.keptOf(namespace, value) : [],
    foreignObjects: observed.foreignObjects ?? [],
    orphans: accepted ? [] : [...observed.children.values()].filter(isOrphan),
    working: others.filter((other) => isWorking(other, value, view)).map(({ metadata }) => metadata.name),
    record: accepted ? null : await readRecord(resource, check),
  });
  remembered.acceptedUid = identity.kind === 'own' ? uid : undefined;
  return identity;
}

/** Whether deploymentId was added later. The running objects of the resource then have its uid as identity. */
function ranByUid({ resource, children }: Observed): boolean {
  const { uid } = resource.metadata;
  if (resource.spec.deploymentId === undefined) return false;
  return [...children.values()].some(
    (child) => controllerOf(child)?.uid === uid && child.metadata.labels?.[LABELS.deploymentId] === uid,
  );
}

/** Whether the object lacks the owner reference that objects of its kind have. */
function isOrphan(child: ChildObject): boolean {
  return childKindOf(child.kind)?.removable === true && controllerOf(child) === undefined;
}

/** Pods, and the workloads that create them. */
const WORK = ['Deployment', 'StatefulSet', 'Pod'] as const;

function isWorking(other: UntypedObject, value: string, view: View): boolean {
  return WORK.flatMap((kind) => view.children(kind, keyOf(other))).some(
    ({ metadata: { labels } }) =>
      labels?.[LABELS.deploymentId] === value && labels[LABELS.instance] === other.metadata.name,
  );
}

async function readRecord(
  { metadata: { name, namespace } }: ObservedResource,
  { client, signal }: IdentityCheck,
): Promise<IdentityRecord | null> {
  const at = { namespace, name: identitySecretName(name) };
  const found = await client.find<UntypedObject>(RESOURCES.Secret, at, { signal });
  const { labels = {} } = found?.metadata ?? {};
  const state = IDENTITY_STATES.find((each) => each === labels[LABELS.identity]);
  const value = labels[LABELS.deploymentId];
  if (state === undefined || value === undefined || labels[LABELS.managedBy] !== MANAGED_BY) return null;
  return { state, value };
}
