import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { FIELD_MANAGERS, LABELS } from '../../contract/resource/names.ts';
import { compareText } from '../../domain/core/compare-text.ts';
import { COMPONENTS } from '../../domain/resource-spec/components.ts';
import { componentName } from '../../workloads/names.ts';
import type { StoredTemplates } from '../../workloads/stored-templates.ts';
import type { KubeObject, UntypedObject } from '../kube/client/object.ts';
import { ownedFields } from './owned-fields.ts';

/** Exports the workloads of a deployment as objects that run without Berth. Pure. */

/** An object as Berth applied it, without owner references and without Berth's annotations. */
export type PlainObject = KubeObject & Record<string, unknown>;

const MANAGERS = [FIELD_MANAGERS.operator, FIELD_MANAGERS.replicas];
const BERTH_PREFIX = 'berth.dev/';

function withoutBerthAnnotations(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !name.startsWith(BERTH_PREFIX)));
}

/**
 * Labels are kept, including Berth's, because selectors use them. Pod templates stay unchanged: any change would
 * replace the pods.
 */
function plain(live: UntypedObject): PlainObject {
  const owned = ownedFields(live, MANAGERS);
  const { labels, annotations = {} } = (owned['metadata'] ?? {}) as KubeObject['metadata'];
  const kept = withoutBerthAnnotations(annotations);
  const { name, namespace } = live.metadata;
  const { apiVersion, kind } = live;
  const { metadata: _metadata, apiVersion: _apiVersion, kind: _kind, ...body } = owned;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
    },
    ...body,
  };
}

/** A component's Deployment with the pod template of the revision; null when the revision has no such component. */
function ofRevision(
  object: PlainObject,
  resource: ManagedDeployment,
  { templates }: StoredTemplates,
): PlainObject | null {
  const component = COMPONENTS.find((name) => componentName(resource, name) === object.metadata.name);
  if (object.kind !== 'Deployment' || component === undefined) return object;
  const template = templates[component];
  if (template === undefined) return null;
  const { name: metadataName, labels = {}, ...metadata } = object.metadata;
  const marks = [LABELS.revisionId, LABELS.version].flatMap((label) => {
    const value = template.metadata?.labels?.[label];
    return value === undefined ? [] : [[label, value] as const];
  });
  const spec = { ...(object['spec'] as object), template };
  return {
    ...object,
    metadata: { ...metadata, name: metadataName, labels: { ...labels, ...Object.fromEntries(marks) } },
    spec,
  };
}

interface AutoscalerFields {
  readonly spec?: { readonly scaleTargetRef?: { readonly kind?: string; readonly name?: string } };
}

/**
 * Omits `replicas` of a Deployment that has an autoscaler, because a later apply of the export must not reset the
 * number of pods.
 */
function withoutScaledReplicas(object: PlainObject, all: readonly PlainObject[]): PlainObject {
  const scales = ({ kind, spec }: PlainObject & AutoscalerFields) =>
    kind === 'HorizontalPodAutoscaler' &&
    spec?.scaleTargetRef?.kind === object.kind &&
    spec.scaleTargetRef.name === object.metadata.name;
  if (!all.some(scales)) return object;
  const { replicas: _replicas, ...spec } = object['spec'] as Record<string, unknown>;
  return { ...object, spec };
}

const ORDER = ['ServiceAccount', 'PersistentVolumeClaim', 'Service', 'StatefulSet', 'Deployment'];

function rank({ kind }: KubeObject): number {
  const index = ORDER.indexOf(kind);
  return index < 0 ? ORDER.length : index;
}

/**
 * The objects of a deployment with the pod templates of one of its revisions, in the order in which they can be
 * applied.
 * @param live the objects as they are in the cluster, including managedFields
 */
export function plainObjects(
  resource: ManagedDeployment,
  live: readonly UntypedObject[],
  templates: StoredTemplates,
): PlainObject[] {
  const objects = live.flatMap((object) => ofRevision(plain(object), resource, templates) ?? []);
  return objects
    .map((object) => withoutScaledReplicas(object, objects))
    .sort(
      (a, b) =>
        rank(a) - rank(b) || compareText(a.kind, b.kind) || compareText(a.metadata.name, b.metadata.name),
    );
}

/** Names of all Secrets that the pod specs refer to. The export does not contain the values of Secrets. */
export function secretNames(objects: readonly object[]): string[] {
  const found = new Set<string>();
  const visit = (value: unknown, key: string): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, key);
    if (typeof value !== 'object' || value === null) return;
    const { name, secretName } = value as { name?: unknown; secretName?: unknown };
    if (typeof secretName === 'string') found.add(secretName);
    const refers = ['secretRef', 'secretKeyRef', 'imagePullSecrets'].includes(key) || key === 'secret';
    if (refers && typeof name === 'string' && !Array.isArray(value)) found.add(name);
    for (const [member, child] of Object.entries(value)) visit(child, member);
  };
  visit(objects, '');
  return [...found].sort(compareText);
}
