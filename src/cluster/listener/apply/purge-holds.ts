import {
  CLAIM_PROTECTION,
  type DeletionHold,
  finalizerHold,
  foreignFinalizers,
  podHold,
} from '../../../domain/deployment/deletion-hold.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import { controllerOf, hasEnded, type KubeObject, type UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';

/** Finds out what blocks a purge, as far as the listener's rights allow. */

/** The fields of a pod that show whether it terminates and which claims it uses. */
export interface PodSummary extends UntypedObject {
  readonly node?: string;
  readonly claims: readonly string[];
  readonly ended: boolean;
}

interface PodFields extends UntypedObject {
  spec?: { nodeName?: string; volumes?: { persistentVolumeClaim?: { claimName: string } }[] };
  status?: { phase?: string };
}

function podSummary(object: UntypedObject): PodSummary {
  const { apiVersion, metadata, spec, status } = object as PodFields;
  const { name, namespace, uid, labels, deletionTimestamp, finalizers, ownerReferences } = metadata;
  const claims = (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []);
  return {
    apiVersion,
    kind: 'Pod',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(labels === undefined ? {} : { labels }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    ...(spec?.nodeName === undefined ? {} : { node: spec.nodeName }),
    claims,
    ended: hasEnded({ status }),
  };
}

/**
 * Pods of a namespace, optionally only those with a label.
 * @throws KubeError
 */
export async function podsIn(
  client: Pick<KubeClient, 'listAll'>,
  at: { namespace: string; labelSelector?: string; signal: AbortSignal },
): Promise<PodSummary[]> {
  const { items } = await client.listAll<PodSummary>(RESOURCES.Pod, { ...at, transform: podSummary });
  return items.map((item) => ('claims' in item ? item : podSummary(item)));
}

/** Why a pod that is being deleted does not terminate; null: unknown. */
const whyPodStays = (pod: PodSummary, now: Date) => finalizerHold(pod) ?? podHold(pod, now);

/**
 * What blocks an object that is being deleted. Causes that Kubernetes usually resolves within seconds are reported only
 * when they persist.
 * @param pods pods of the namespace, which may use a claim
 */
export function objectHolds(
  object: KubeObject,
  pods: readonly PodSummary[],
  { now, lasts }: { now: Date; lasts: boolean },
): DeletionHold[] {
  const { kind, metadata } = object;
  const { name, finalizers = [], deletionTimestamp } = metadata;
  if (deletionTimestamp === undefined) return [];
  const held = finalizerHold(object);
  const holds = held === null ? [] : [held];
  if (!lasts || !finalizers.includes(CLAIM_PROTECTION)) return holds;
  const users = pods.filter(({ claims, ended }) => !ended && claims.includes(name));
  if (users.length === 0) {
    if (foreignFinalizers(object).length > 0) return holds;
    const message = `${kind} ${name} is being deleted and is held by the finalizer ${CLAIM_PROTECTION}; no pod that uses it was found`;
    return [{ reason: 'FinalizerBlocks', message }];
  }
  const used = users.flatMap((pod): DeletionHold[] => {
    const message = `${kind} ${name} is being deleted and is used by Pod ${pod.metadata.name}`;
    const why = whyPodStays(pod, now);
    return [{ reason: 'VolumeInUse', message }, ...(why === null ? [] : [why])];
  });
  return [...holds, ...used];
}

/** What blocks pods that remain after the custom resource is gone. */
export function leftPodHolds(pods: readonly PodSummary[], now: Date): DeletionHold[] {
  return pods.map((pod) => {
    const why = whyPodStays(pod, now);
    if (why !== null) return why;
    const owner = controllerOf(pod);
    const of = owner === undefined ? 'no controller owns it' : `its owner is ${owner.kind} ${owner.name}`;
    const message = `Pod ${pod.metadata.name} still exists although the custom resource is gone; ${of}`;
    return { reason: 'DependentsLeft', message };
  });
}

const WHAT_REMAINS: ReadonlySet<string> = new Set([
  'NamespaceContentRemaining',
  'NamespaceFinalizersRemaining',
  'NamespaceDeletionContentFailure',
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
]);

interface NamespaceFields extends UntypedObject {
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

/**
 * Reports that a namespace is being deleted, and what remains in it according to the namespace controller. null: the
 * namespace is not being deleted, or cannot be read.
 */
export async function namespaceHold(
  client: Pick<KubeClient, 'find'>,
  name: string,
  signal: AbortSignal,
): Promise<DeletionHold | null> {
  let found: NamespaceFields | undefined;
  try {
    found = await client.find<NamespaceFields>(RESOURCES.Namespace, { name }, { signal });
  } catch (error) {
    if (!isKubeError(error) || signal.aborted) throw error;
    return null;
  }
  const { deletionTimestamp: since } = found?.metadata ?? {};
  if (since === undefined) return null;
  const remains = (found?.status?.conditions ?? [])
    .filter(({ type, status }) => status === 'True' && WHAT_REMAINS.has(type))
    .flatMap(({ message }) => message ?? []);
  const message = [`Namespace ${name} is being deleted since ${since}`, ...remains].join(': ');
  return { reason: 'NamespaceTerminating', message };
}
