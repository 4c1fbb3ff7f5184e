import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { hubNameOfObject, type IdentityState, LABELS } from '../../../contract/resource/names.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { identityValue } from '../../../workloads/labels.ts';
import { controllerOf, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';
import { isAccepted, LIKE_A_UID } from '../observe/ownership.ts';
import type { ObservedResource } from '../observed.ts';

/**
 * Decides which resource may use an identity. In a namespace, only one resource may use the value by which selectors
 * and labels identify a deployment, whatever the specs say. Decision 0061 states the rules. This file is the only
 * implementation of these rules. Pure.
 */

/**
 * The listener's record of a name. The record is a Secret, so users with access only to custom resources cannot create
 * it.
 */
export interface IdentityRecord {
  readonly state: IdentityState;
  /** Identity value of the recorded deployment. */
  readonly value: string;
}

export interface IdentityFacts {
  readonly resource: ObservedResource;
  /** Whether the operator accepted the identity before. If so, no record is read, and left objects are not searched. */
  readonly accepted: boolean;
  /** Custom resources of the namespace with the same identity value, including this one. */
  readonly candidates: readonly UntypedObject[];
  /** Volume claims and stored templates in the namespace with this identity value. */
  readonly kept: readonly UntypedObject[];
  /** Managed objects with this resource's name, another identity value and no owner. */
  readonly foreignObjects: readonly KubeObject[];
  /** Objects with this name and identity value that lack a required owner. */
  readonly orphans: readonly KubeObject[];
  /** Names of other candidates whose pods or workloads have the identity value. */
  readonly working: readonly string[];
  /** null: this resource's name has no record. */
  readonly record: IdentityRecord | null;
}

/**
 * `own`: the resource may use its identity. `refused`: the operator creates nothing for the resource, and the message
 * names the other resource.
 */
export type Identity =
  | { readonly kind: 'own' }
  | {
      readonly kind: 'refused';
      readonly reason: Extract<Reason, 'Conflict' | 'TakingOver'>;
      readonly message: string;
    };

const OWN: Identity = { kind: 'own' };
const refused = (message: string): Identity => ({ kind: 'refused', reason: 'Conflict', message });

/** Decides whether the resource may use its identity. */
export function decideIdentity(facts: IdentityFacts): Identity {
  const { accepted, record } = facts;
  const value = identityValue(facts.resource);
  const isClaimed = !accepted && record?.state === 'claimed' && record.value === value;
  const reserved = accepted || isClaimed ? null : nameOfObject(facts.resource.metadata.name);
  if (reserved !== null) return refused(reserved);
  const [first] = ranked(facts, isClaimed);
  if (first !== undefined && first.name !== facts.resource.metadata.name) return refused(first.why);
  const left = accepted ? null : leftBehind(facts, isClaimed);
  if (left !== null) return refused(left);
  const [working] = accepted ? [] : facts.working;
  if (working === undefined) return OWN;
  const message =
    `the ManagedDeployment ${working} has used the id of this deployment; its workloads are being ` +
    `stopped`;
  return { kind: 'refused', reason: 'TakingOver', message };
}

/** Rejects a name that objects of a deployment of the hub may need. The hub itself never generates such a name. */
function nameOfObject(name: string): string | null {
  const hub = hubNameOfObject(name);
  if (hub === null) return null;
  return (
    `the name ${name} is reserved for an object of the deployment ${hub}; use another name. A ManagedDeployment must ` +
    'not have a name that ends in 8 hex digits and a suffix of Berth, such as -db, -cache, -api or a number'
  );
}

/** Why a new resource may not use existing objects; null: it may. */
function leftBehind(facts: IdentityFacts, isClaimed: boolean): string | null {
  const { resource, foreignObjects, orphans, kept, record } = facts;
  const { namespace, uid, creationTimestamp = '' } = resource.metadata;
  const value = identityValue(resource);
  const [foreign] = foreignObjects;
  if (foreign !== undefined) {
    const former = foreign.metadata.labels?.[LABELS.deploymentId] ?? '';
    return (
      `${objectName(foreign)} belongs to a former deployment of this name (${former}), and this deployment does not ` +
      `use it: use another name, or delete the remaining objects. To use the remaining objects for this resource: ` +
      `kubectl -n ` +
      `${namespace} label --overwrite ` +
      `pvc,secrets,controllerrevisions -l ${LABELS.deploymentId}=${former} ${LABELS.deploymentId}=${value}`
    );
  }
  if (isClaimed) return null;
  if (record?.state === 'left' || (record !== null && record.value !== value)) {
    const what =
      record.state === 'left' ? 'is no longer managed by Berth and keeps its workloads' : 'has this name';
    return `the deployment ${record.value} ${what}: use another name`;
  }
  const [orphan] = orphans;
  if (orphan !== undefined) {
    return (
      `${objectName(orphan)} belongs to a deployment that Berth no longer manages, and is not adopted: use ` +
      `another name and id`
    );
  }
  const former = kept.find((object) => {
    const isOlder = (object.metadata.creationTimestamp ?? '') < creationTimestamp;
    return controllerOf(object)?.uid !== uid && isOlder;
  });
  if (former !== undefined && LIKE_A_UID.test(value)) {
    return (
      `spec.deploymentId is the uid of an earlier resource, and ${objectName(former)} of that resource still ` +
      `exists: remove spec.deploymentId`
    );
  }
  return null;
}

const objectName = ({ kind, metadata: { name } }: KubeObject) => `${kind} ${name}`;

interface Claimant {
  readonly name: string;
  readonly rank: string;
  /** Why another resource may not use the identity. */
  readonly why: string;
}

/** All claimants of the identity value. The first claimant is the rightful claimant. */
function ranked(facts: IdentityFacts, isClaimed: boolean): Claimant[] {
  const { resource, candidates, kept, accepted } = facts;
  const self = resource as unknown as UntypedObject;
  const others = candidates.filter(({ metadata }) => metadata.name !== self.metadata.name);
  const standings = [
    { object: self, claimed: isClaimed, accepted },
    ...others.map((object) => ({
      object,
      claimed: isTakingOver(object),
      accepted: isAccepted(object),
    })),
  ];
  const claimants = standings.map((standing): Claimant => {
    const { object } = standing;
    const since = earliest(kept.filter((each) => isMadeFor(each, object)));
    return { name: object.metadata.name, rank: rankOf(standing, since), why: whyNot(object, resource) };
  });
  return [...claimants, ...gone(facts, [self, ...others])].sort((a, b) => (a.rank < b.rank ? -1 : 1));
}

/** Name of the resource that keeps a shared identity, if no record of the listener decides. */
export function holderOf(candidates: readonly UntypedObject[], kept: readonly UntypedObject[]): string {
  const ranks = candidates.map((object) => {
    const since = earliest(kept.filter((each) => isMadeFor(each, object)));
    const rank = rankOf({ object, claimed: isTakingOver(object), accepted: isAccepted(object) }, since);
    return { name: object.metadata.name, rank };
  });
  return ranks.sort((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.name ?? '';
}

interface Standing {
  readonly object: UntypedObject;
  readonly claimed: boolean;
  readonly accepted: boolean;
}

/**
 * Rank of a claimant. The lowest rank wins. The rank compares, in this order: a uid as identity, the listener's claim,
 * acceptance by the operator, and the age of objects that Berth created for the claimant. Only Berth and the API server
 * can write the values that determine the rank. Between claimants of equal rank, a name that the listener would
 * generate wins, then the older resource.
 */
function rankOf({ object, claimed, accepted }: Standing, since: string | null): string {
  const { name, creationTimestamp = '' } = object.metadata;
  const tier = [idOf(object) === undefined, claimed, accepted, since !== null, true].indexOf(true);
  return [tier, tier === 3 ? since : '', hasGivenName(object) ? 0 : 1, creationTimestamp, name].join(' ');
}

/** Whether the listener could have generated the name, which then ends in digits of the id. */
export function hasGivenName(object: UntypedObject): boolean {
  const id = idOf(object);
  return id !== undefined && object.metadata.name.endsWith(`-${id.replaceAll('-', '').slice(-8)}`);
}

/** Deployments without a custom resource whose volume or stored templates still exist. */
function gone({ kept, accepted }: IdentityFacts, present: readonly UntypedObject[]): Claimant[] {
  if (accepted) return [];
  return kept
    .filter((object) => !present.some((each) => isMadeFor(object, each)))
    .map((object) => {
      const instance = object.metadata.labels?.[LABELS.instance] ?? '';
      const why =
        `the id belongs to the deployment ${instance}, whose ${objectName(object)} still exists: remove ` +
        `spec.deploymentId, or delete this resource`;
      return { name: `${instance} (gone)`, rank: `3 ${object.metadata.creationTimestamp ?? ''}`, why };
    });
}

function whyNot(other: UntypedObject, resource: ObservedResource): string {
  const { name } = other.metadata;
  const remedy = 'remove spec.deploymentId, or delete this resource';
  if (isOfUid(other)) return `spec.deploymentId is the uid of the ManagedDeployment ${name}: ${remedy}`;
  const same = idOf(other) === resource.spec.deploymentId;
  const what = same
    ? 'has the same spec.deploymentId'
    : 'has a spec.deploymentId that results in the same label';
  return `the ManagedDeployment ${name} ${what}: ${remedy}`;
}

const idOf = ({ spec }: UntypedObject | ObservedResource): string | undefined =>
  (spec as { deploymentId?: string } | undefined)?.deploymentId;

/** Whether the identity is the uid. The API server generates the uid, so no user can choose it. */
const isOfUid = (object: UntypedObject): boolean => idOf(object) === undefined;

/** Whether the operator has found the listener's claim and reported it in the status. */
function isTakingOver(object: UntypedObject): boolean {
  const { conditions = [] } = (object['status'] ?? {}) as ManagedDeploymentStatus;
  return conditions.some(({ type, reason }) => type === 'Ready' && reason === 'TakingOver');
}

/**
 * Whether Berth created the object for this resource, by label and owner reference. Users with access only to custom
 * resources can change neither label nor owner reference.
 */
function isMadeFor(object: KubeObject, { metadata }: UntypedObject): boolean {
  const owner = controllerOf(object);
  if (owner !== undefined && owner.uid === metadata.uid) return true;
  return object.metadata.labels?.[LABELS.instance] === metadata.name;
}

function earliest(objects: readonly KubeObject[]): string | null {
  return objects.map(({ metadata }) => metadata.creationTimestamp ?? '').sort()[0] ?? null;
}
