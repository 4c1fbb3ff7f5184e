import type { ManagedDeploymentStatus } from '../../../contract/resource/managed-deployment.ts';
import { hubNameOfObject, type IdentityState, LABELS } from '../../../contract/resource/names.ts';
import type { Reason } from '../../../domain/conditions/conditions.ts';
import { identityValue } from '../../../workloads/labels.ts';
import { controllerOf, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';
import { isAccepted, LIKE_A_UID } from '../observe/ownership.ts';
import type { ObservedResource } from '../observed.ts';

/**
 * Who may use an identity. One resource of a namespace uses the value by which selectors and labels know a deployment,
 * whatever its spec says. Decision 0061 states the rules; this is their one implementation. Pure.
 */

/** The listener's record of a name: a Secret, which who may only write custom resources cannot make. */
export interface IdentityRecord {
  readonly state: IdentityState;
  /** Identity value of the deployment that the record is about. */
  readonly value: string;
}

export interface IdentityFacts {
  readonly resource: ObservedResource;
  /** The operator accepted the identity before: no record is read, and objects that were left are not looked for. */
  readonly accepted: boolean;
  /** Custom resources of the namespace with the same identity value, this one included. */
  readonly candidates: readonly UntypedObject[];
  /** Volume claims and stored templates of the namespace that carry the value. */
  readonly kept: readonly UntypedObject[];
  /** Berth's objects of this resource's name that carry another value and have no owner. */
  readonly foreignObjects: readonly KubeObject[];
  /** Objects of this value and name that belong to a custom resource, and have none. */
  readonly orphans: readonly KubeObject[];
  /** Names of the other candidates whose pods or workloads carry the value. */
  readonly working: readonly string[];
  /** null: there is none for this resource's name. */
  readonly record: IdentityRecord | null;
}

/** `own`: the resource may use its identity. Otherwise nothing is made for it, and the message names the other one. */
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
  const message = `the ManagedDeployment ${working} has used the id of this deployment: what it runs is being stopped`;
  return { kind: 'refused', reason: 'TakingOver', message };
}

/** Objects of such a resource could take names that objects of the hub's deployment need. The hub gives no such name. */
function nameOfObject(name: string): string | null {
  const hub = hubNameOfObject(name);
  if (hub === null) return null;
  return (
    `the name ${name} is reserved for an object of the deployment ${hub}: a name of 8 hex digits followed by a part that ` +
    'Berth adds (such as -db, -cache, -api or a number) is given to no ManagedDeployment; take another name'
  );
}

/** Why a resource that was not accepted yet may not use what is there; null: it may. */
function leftBehind(facts: IdentityFacts, isClaimed: boolean): string | null {
  const { resource, foreignObjects, orphans, kept, record } = facts;
  const { namespace, uid, creationTimestamp = '' } = resource.metadata;
  const value = identityValue(resource);
  const [stranger] = foreignObjects;
  if (stranger !== undefined) {
    const former = stranger.metadata.labels?.[LABELS.deploymentId] ?? '';
    return (
      `${objectName(stranger)} was left by another deployment of this name (${former}) and is not used by this one: ` +
      `take another name, or remove what was left. If it is to belong to this resource: kubectl -n ${namespace} label --overwrite ` +
      `pvc,secrets,controllerrevisions -l ${LABELS.deploymentId}=${former} ${LABELS.deploymentId}=${value}`
    );
  }
  if (isClaimed) return null;
  if (record?.state === 'left' || (record !== null && record.value !== value)) {
    const what = record.state === 'left' ? 'left Berth and keeps what it ran' : 'has this name';
    return `the deployment ${record.value} ${what}: take another name`;
  }
  const [orphan] = orphans;
  if (orphan !== undefined) {
    return `${objectName(orphan)} was left by a deployment that is no longer Berth's, and is not taken over: take another name and id`;
  }
  const former = kept.find((object) => {
    const isOlder = (object.metadata.creationTimestamp ?? '') < creationTimestamp;
    return controllerOf(object)?.uid !== uid && isOlder;
  });
  if (former !== undefined && LIKE_A_UID.test(value)) {
    return `spec.deploymentId is the uid of an earlier resource, which left ${objectName(former)}: leave spec.deploymentId out`;
  }
  return null;
}

const objectName = ({ kind, metadata: { name } }: KubeObject) => `${kind} ${name}`;

interface Claimant {
  readonly name: string;
  readonly rank: string;
  /** Why another one may not use the identity. */
  readonly why: string;
}

/** All that claim the value, the one that may use it first. */
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

/** Name of the resource that keeps an identity which these share, as far as no record of the listener decides. */
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
 * Least first: an identity that is a uid, the listener's claim, what the operator has accepted, what Berth has made objects
 * for, in the order of these. All of these only Berth and the API server can write. Where none of them decides, it is the
 * name that the listener would give, then the age.
 */
function rankOf({ object, claimed, accepted }: Standing, since: string | null): string {
  const { name, creationTimestamp = '' } = object.metadata;
  const tier = [idOf(object) === undefined, claimed, accepted, since !== null, true].indexOf(true);
  return [tier, tier === 3 ? since : '', hasGivenName(object) ? 0 : 1, creationTimestamp, name].join(' ');
}

/** Whether a resource has a name such as the listener gives: it ends in digits of the id. */
export function hasGivenName(object: UntypedObject): boolean {
  const id = idOf(object);
  return id !== undefined && object.metadata.name.endsWith(`-${id.replaceAll('-', '').slice(-8)}`);
}

/** Deployments whose custom resource is not there, and whose volume or stored templates are. */
function gone({ kept, accepted }: IdentityFacts, present: readonly UntypedObject[]): Claimant[] {
  if (accepted) return [];
  return kept
    .filter((object) => !present.some((each) => isMadeFor(object, each)))
    .map((object) => {
      const instance = object.metadata.labels?.[LABELS.instance] ?? '';
      const why = `the id belongs to the deployment ${instance}, whose ${objectName(object)} is still there: leave spec.deploymentId out, or delete this one`;
      return { name: `${instance} (gone)`, rank: `3 ${object.metadata.creationTimestamp ?? ''}`, why };
    });
}

function whyNot(other: UntypedObject, resource: ObservedResource): string {
  const { name } = other.metadata;
  const remedy = 'leave it out, or delete this one';
  if (isOfUid(other)) return `spec.deploymentId is the uid of the ManagedDeployment ${name}: ${remedy}`;
  const same = idOf(other) === resource.spec.deploymentId;
  const what = same ? 'has the same spec.deploymentId' : 'has a spec.deploymentId of the same label';
  return `the ManagedDeployment ${name} ${what}: ${remedy}`;
}

const idOf = ({ spec }: UntypedObject | ObservedResource): string | undefined =>
  (spec as { deploymentId?: string } | undefined)?.deploymentId;

/** Its identity is its uid, which the API server made: it cannot have been chosen. */
const isOfUid = (object: UntypedObject): boolean => idOf(object) === undefined;

/** The operator has found the listener's claim, and told so in the status. */
function isTakingOver(object: UntypedObject): boolean {
  const { conditions = [] } = (object['status'] ?? {}) as ManagedDeploymentStatus;
  return conditions.some(({ type, reason }) => type === 'Ready' && reason === 'TakingOver');
}

/** Berth's labels and owner references say so; who may only write custom resources can change neither. */
function isMadeFor(object: KubeObject, { metadata }: UntypedObject): boolean {
  const owner = controllerOf(object);
  if (owner !== undefined && owner.uid === metadata.uid) return true;
  return object.metadata.labels?.[LABELS.instance] === metadata.name;
}

function earliest(objects: readonly KubeObject[]): string | null {
  return objects.map(({ metadata }) => metadata.creationTimestamp ?? '').sort()[0] ?? null;
}
