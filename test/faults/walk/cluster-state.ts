/** The objects of one deployment in the cluster, in a form that can be compared. */

import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { ANNOTATIONS, LABELS } from '../../../src/contract/resource/names.ts';
import { INPUTS_HASH_LABEL, TEMPLATE_HASH_LABEL } from '../../../src/workloads/labels.ts';
import { canonical, type WalkDeployment } from './answers.ts';
import { comparableData, isEnvironment } from './secret-data.ts';
import type { WalkWorld } from './world.ts';

const KINDS = [
  'ManagedDeployment',
  'Deployment',
  'StatefulSet',
  'Service',
  'ServiceAccount',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'NetworkPolicy',
  'Ingress',
  'PersistentVolumeClaim',
  'Secret',
  'ControllerRevision',
  'Pod',
] as const satisfies readonly (keyof typeof RESOURCES)[];
export type WalkKind = (typeof KINDS)[number];

export type ClusterState = Readonly<Record<WalkKind, readonly UntypedObject[]>>;

/** All objects with the label of a deployment. */
export async function clusterState({ admin, namespace }: WalkWorld, id: string): Promise<ClusterState> {
  const labelSelector = `${LABELS.deploymentId}=${id}`;
  const lists = await Promise.all(
    KINDS.map(async (kind) => {
      const { items } = await admin.listAll(RESOURCES[kind], { namespace, labelSelector });
      return [kind, items] as const;
    }),
  );
  return Object.fromEntries(lists) as unknown as ClusterState;
}

/** Metadata that differs between two objects with the same content. */
const MASKED_METADATA: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'ownerReferences',
  'selfLink',
]);
const MASKED_KEYS: ReadonlySet<string> = new Set([
  INPUTS_HASH_LABEL,
  TEMPLATE_HASH_LABEL,
  ANNOTATIONS.appliedHash,
  ANNOTATIONS.specHash,
  ANNOTATIONS.formerHost,
  ANNOTATIONS.formerRevision,
  'deployment.kubernetes.io/revision',
  'volume.kubernetes.io/selected-node',
]);
/** Fields that the cluster sets. */
const MASKED_SPEC: ReadonlySet<string> = new Set(['clusterIP', 'clusterIPs', 'volumeName']);
/** Fields of a custom resource that the hub counts. */
const MASKED_HUB: ReadonlySet<string> = new Set(['generation', 'recordGeneration', 'number']);

/** The template of an annotation with JSON. Its other members are hashes of masked values. */
function templateOf(text: string): unknown {
  const { template } = JSON.parse(text) as { template?: unknown };
  return { template };
}

function strip(value: unknown, masked: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => strip(item, masked));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !masked.has(key))
      .map(([key, member]) => [
        key,
        key === ANNOTATIONS.podTemplate && typeof member === 'string'
          ? strip(templateOf(member), masked)
          : strip(member, masked),
      ]),
  );
}

function stripMetadata(metadata: object): unknown {
  const kept = Object.entries(metadata).filter(([key]) => !MASKED_METADATA.has(key));
  return strip(Object.fromEntries(kept), MASKED_KEYS);
}

type Replacement = readonly [text: string, mask: string];

/** Texts that are specific to a deployment, such as names, ids and hosts. The longest first, because one may contain another. */
export function replacements(deployment: WalkDeployment, app: string): Replacement[] {
  const host = deployment.source_config.custom_url;
  const own: (readonly [string | null, string])[] = [
    [app, '<app>'],
    [deployment.name, '<name>'],
    [deployment.id, '<deployment>'],
    [deployment.latest_revision_id, '<revision>'],
    [deployment.active_revision_id, '<revision>'],
    [host === null ? null : new URL(host).hostname, '<host>'],
    // A walk has at most one additional host at a time.
    [deployment.source_config.domains?.[0] ?? null, '<domain>'],
  ];
  const known = own.filter((entry): entry is Replacement => entry[0] !== null && entry[0] !== '');
  return known.sort(([a], [b]) => b.length - a.length);
}

/** A text that is equal for two deployments with the same record. */
export function maskText(text: string, masks: readonly Replacement[]): string {
  const masked = masks.reduce((all, [from, to]) => all.replaceAll(from, to), text);
  return masked
    .replaceAll(/<app>-env-\d+/g, '<app>-env')
    .replaceAll(/<app>-(host|tls)-[0-9a-f]{10}/g, '<app>-$1')
    .replaceAll(/<app>-secrets-[0-9a-f]+/g, '<app>-secrets');
}

function stripObject(kind: WalkKind, object: UntypedObject, app: string): unknown {
  const { metadata, status: _, apiVersion: __, kind: ___, ...rest } = object;
  const body = kind === 'Secret' ? { ...rest, data: comparableData(object, app) } : strip(rest, MASKED_KEYS);
  const hidden = kind === 'ManagedDeployment' ? MASKED_HUB : MASKED_SPEC;
  return { metadata: stripMetadata(metadata), ...(strip(body, hidden) as object) };
}

function isAutoscaled(state: ClusterState, name: string): boolean {
  return state.HorizontalPodAutoscaler.some(({ metadata }) => metadata.name === name);
}

/** Removes the number of pods that an autoscaler sets. */
function withoutScaled(kind: WalkKind, object: UntypedObject, state: ClusterState): UntypedObject {
  if (kind !== 'Deployment' || !isAutoscaled(state, object.metadata.name)) return object;
  const { replicas: _, ...spec } = object['spec'] as Record<string, unknown>;
  return { ...object, spec };
}

const COMPARED = KINDS.filter((kind) => kind !== 'Pod' && kind !== 'ControllerRevision');

/**
 * Each object by kind and masked name, as canonical JSON. Excluded are pods (Deployments determine them), stored templates,
 * the secret sentinel, and environments of earlier revisions, because their number may differ.
 */
export function comparable(state: ClusterState, deployment: WalkDeployment): Map<string, string> {
  const [resource] = state.ManagedDeployment;
  const app = resource?.metadata.name ?? '';
  const masks = replacements(deployment, app);
  const { envSecretName } = ((resource?.['spec'] as { revision?: { envSecretName?: string } } | undefined)
    ?.revision ?? {}) as { envSecretName?: string };
  const entries = COMPARED.flatMap((kind) =>
    state[kind]
      .filter(({ metadata }) => !(kind === 'Secret' && isOldEnvironment(metadata.name, app, envSecretName)))
      .map((object) => {
        const text = canonical(stripObject(kind, withoutScaled(kind, object, state), app));
        return [maskText(`${kind}/${object.metadata.name}`, masks), maskText(text, masks)] as const;
      }),
  );
  return new Map(entries);
}

function isOldEnvironment(name: string, app: string, current: string | undefined): boolean {
  return isEnvironment(name, app) && name !== current;
}

/** The pod templates of the components: masked, and their hashes in the labels of pods. */
export function podTemplates(state: ClusterState, deployment: WalkDeployment) {
  const app = state.ManagedDeployment[0]?.metadata.name ?? '';
  const masks = replacements(deployment, app);
  const hashes: Record<string, string> = {};
  const texts: Record<string, string> = {};
  for (const object of state.Deployment) {
    const { template } = object['spec'] as { template: { metadata?: { labels?: Record<string, string> } } };
    const hash = template.metadata?.labels?.[TEMPLATE_HASH_LABEL];
    if (hash === undefined) continue;
    const component = maskText(object.metadata.name, masks);
    hashes[component] = hash;
    texts[component] = maskText(canonical(strip(template, MASKED_KEYS)), masks);
  }
  return { hashes, texts };
}
