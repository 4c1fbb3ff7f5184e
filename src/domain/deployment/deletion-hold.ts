import type { Condition, Reason } from '../conditions/conditions.ts';

/** Types that state what blocks the deletion of an object. Operator, listener and hub share these types. */

/** Reasons of a blocked deletion. Each of these reasons has a remedy. */
export const HOLD_REASONS = [
  'FinalizerBlocks',
  'VolumeInUse',
  'PodNotEnding',
  'DeletionRefused',
  'DeletionForbidden',
  'DependentsLeft',
  'NamespaceTerminating',
] as const satisfies readonly Reason[];
export type HoldReason = (typeof HOLD_REASONS)[number];

const HOLDS: ReadonlySet<string> = new Set(HOLD_REASONS);

/** Whether a condition with this reason names an object that blocks a deletion. */
export function isHoldReason(reason: string): reason is HoldReason {
  return HOLDS.has(reason);
}

/** One object that blocks a deletion. */
export interface DeletionHold {
  readonly reason: HoldReason;
  /** A sentence that begins with kind and name of the object: `PersistentVolumeClaim shop-db is …`. */
  readonly message: string;
}

/** Finalizers that Kubernetes itself sets and removes. Any other finalizer blocks until its controller removes it. */
const OF_KUBERNETES: ReadonlySet<string> = new Set([
  'foregroundDeletion',
  'orphan',
  'kubernetes.io/pvc-protection',
  'kubernetes.io/pv-protection',
  'batch.kubernetes.io/job-tracking',
]);

/** The finalizer that is set on a claim while a pod uses it. */
export const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';
/** The finalizer that is set on an owner until the objects that it owns are gone. */
export const FOREGROUND = 'foregroundDeletion';

interface Deletable {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
}

/** The finalizers of an object that Kubernetes does not remove by itself. */
export function foreignFinalizers({ metadata: { finalizers = [] } }: Pick<Deletable, 'metadata'>): string[] {
  return finalizers.filter((finalizer) => !OF_KUBERNETES.has(finalizer));
}

const listed = (finalizers: readonly string[]) =>
  `${finalizers.length === 1 ? 'the finalizer' : 'the finalizers'} ${finalizers.join(', ')}`;

/** Finalizers that block the deletion of an object. null: no finalizer blocks it, or it is not being deleted. */
export function finalizerHold(object: Deletable): DeletionHold | null {
  const { kind, metadata } = object;
  const finalizers = foreignFinalizers(object);
  if (metadata.deletionTimestamp === undefined || finalizers.length === 0) return null;
  const message = `${kind} ${metadata.name} is being deleted and is held by ${listed(finalizers)}`;
  return { reason: 'FinalizerBlocks', message };
}

/** Time after the end of the grace period of a pod after which the pod counts as stuck. */
export const POD_OVERDUE_MS = 15_000;

/**
 * Time at which a pod should have ended, in ms since the epoch; null: the pod is not being deleted. The
 * deletionTimestamp of a pod is the end of its grace period.
 */
export function podOverdueAt({ metadata }: Pick<Deletable, 'metadata'>): number | null {
  const due = Date.parse(metadata.deletionTimestamp ?? '');
  return Number.isNaN(due) ? null : due + POD_OVERDUE_MS;
}

/** The hold for a pod that does not end after its grace period. null: the pod does not block the deletion. */
export function podHold(
  pod: Deletable & { readonly node?: string | undefined },
  now: Date,
): DeletionHold | null {
  const overdueAt = podOverdueAt(pod);
  if (overdueAt === null || overdueAt > now.getTime()) return null;
  const { name, deletionTimestamp } = pod.metadata;
  const node =
    pod.node === undefined
      ? 'no kubelet has confirmed that the pod stopped'
      : `its node ${pod.node} has not confirmed that the pod stopped; the node may be unreachable`;
  return {
    reason: 'PodNotEnding',
    message: `Pod ${name} should have ended at ${deletionTimestamp}: ${node}`,
  };
}

const SHOWN = 3;

/** Combines holds: the reason of the first hold, and the messages of the first few holds. undefined: no holds. */
export function combinedHold(holds: readonly DeletionHold[]): DeletionHold | undefined {
  const [first] = holds;
  if (first === undefined) return undefined;
  const more = holds.length > SHOWN ? `; and ${holds.length - SHOWN} more` : '';
  const shown = holds.slice(0, SHOWN).map(({ message }) => message);
  return { reason: first.reason, message: `${shown.join('; ')}${more}` };
}

const BEGINS_WITH_OBJECT = /^([A-Z][A-Za-z]+) ([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?![a-z0-9.-]*\/)/;

/**
 * Kind and name of the object that the message of a hold begins with; null: the message does not begin with an object.
 */
export function objectOfHold(message: string): { kind: string; object: string } | null {
  const [, kind, object] = BEGINS_WITH_OBJECT.exec(message) ?? [];
  return kind === undefined || object === undefined ? null : { kind, object };
}

/**
 * Type of the condition with which the hub records what blocks a purge. The API shows this condition under the type
 * `Ready`.
 */
const NOTE = 'Deletion';

/** The condition that records what blocks the purge; undefined: no cause is known. */
export function deletionNote(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(({ type }) => type === NOTE);
}

/** Conditions without the record of what blocks the purge. */
export function withoutDeletionNote(conditions: readonly Condition[]): Condition[] {
  return conditions.filter(({ type }) => type !== NOTE);
}

/** Replaces the record of what blocks the purge in the conditions. The time is kept while the record is unchanged. */
export function withDeletionNote(
  conditions: readonly Condition[],
  { reason, message }: { readonly reason: Reason; readonly message: string },
  now: Date,
): Condition[] {
  const before = deletionNote(conditions);
  const same = before?.reason === reason && before.message === message;
  const lastTransitionTime = same ? before.lastTransitionTime : now.toISOString();
  return [
    ...withoutDeletionNote(conditions),
    { type: NOTE, status: 'False', reason, message, lastTransitionTime },
  ];
}
