import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, LABELS } from '../contract/resource/names.ts';
import { canonicalJson, contentHash } from '../domain/core/hash.ts';
import { APP_CONTAINER_NAME } from '../domain/deployment/reserved.ts';
import type { KubeObject, PodTemplates } from './desired-object.ts';
import { INPUTS_HASH_LABEL, metadata, revisionLabels, TEMPLATE_HASH_LABEL } from './labels.ts';
import { storedTemplatesName } from './names.ts';
import { ownerReferences, ownsData } from './owner.ts';
import { askedPodsHash, templateInputsHash } from './template-inputs.ts';

/** Which image the app containers of stored templates run, and how it came to that. */
export interface StoredImage {
  /** As the revision names it. */
  readonly given: string;
  /** As the containers name it: pinned to the digest that the name had, where that was known. */
  readonly used: string;
  /** Why the digest is not known, though it was asked for; absent: it is, or nobody asked. */
  readonly unresolved?: string;
}

/** What a ControllerRevision of Berth's holds. */
export interface StoredTemplates {
  /** Name of the ControllerRevision. */
  readonly name: string;
  readonly revisionNumber: number;
  /** As labelled: the hub's id, or the number on resources without a record. */
  readonly revisionId: string;
  /** `templateInputsHash` of the resource that they were rendered from. */
  readonly inputsHash: string;
  readonly templates: PodTemplates;
  /** null: the templates have no app container. */
  readonly image: StoredImage | null;
}

/**
 * The ControllerRevision that keeps the rendered templates of the wanted revision, for rollouts and rollbacks.
 * Immutable in Kubernetes: another rendering of the same revision is another attempt. Unowned (it outlives an
 * accidental delete of the custom resource, unless its volumePolicy is Delete); holds no secret value.
 * They say which revision was active when they were made: should the custom resource and its status be lost, that is
 * what a failure returns to.
 * @param attempt 1 for the revision's first rendering, then 2, 3 …
 * @param image which image the templates run; absent: the one that the revision names
 */
export function storedTemplates(
  resource: ManagedDeployment,
  templates: PodTemplates,
  attempt: number,
  image?: StoredImage,
): KubeObject {
  const active = resource.status?.activeRevision;
  const base = metadata(resource, storedTemplatesName(resource, attempt), 'app');
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      ...base,
      labels: {
        ...base.labels,
        ...revisionLabels(resource),
        [INPUTS_HASH_LABEL]: templateInputsHash(resource),
      },
      annotations: {
        [ANNOTATIONS.askedPods]: askedPodsHash(resource),
        ...(active === undefined ? {} : { [ANNOTATIONS.formerRevision]: canonicalJson(active) }),
      },
      ...(ownsData(resource) ? ownerReferences(resource) : {}),
    },
    revision: resource.spec.revision.number,
    data: { templates, ...(image === undefined ? {} : { image }) },
  };
}

/**
 * Templates whose pods tell that they were made from them: after a change in place the pods before and after carry the
 * same revision, and the failure of one says nothing of the other. A template of the same content has the same mark,
 * so that what does not change is not restarted.
 */
export function markTemplates(templates: PodTemplates): PodTemplates {
  return Object.fromEntries(
    Object.entries(templates).map(([component, template]) => {
      const { metadata: meta, ...rest } = template;
      const labels = { ...meta?.labels, [TEMPLATE_HASH_LABEL]: contentHash(template) };
      return [component, { metadata: { ...meta, labels }, ...rest }];
    }),
  );
}

/** A ControllerRevision as far as it is read. */
export interface ReadControllerRevision {
  readonly metadata?: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly revision?: number;
  readonly data?: unknown;
}

/** Reads back what `storedTemplates` wrote; null if the object is not one of Berth's. */
export function parseStoredTemplates(object: ReadControllerRevision): StoredTemplates | null {
  const name = object.metadata?.name;
  const revisionId = object.metadata?.labels?.[LABELS.revisionId];
  const inputsHash = object.metadata?.labels?.[INPUTS_HASH_LABEL];
  const { templates, image } = (object.data ?? {}) as { templates?: PodTemplates; image?: unknown };
  if (name === undefined || revisionId === undefined || inputsHash === undefined) return null;
  if (object.revision === undefined || templates === undefined) return null;
  const revisionNumber = object.revision;
  return { name, revisionNumber, revisionId, inputsHash, templates, image: readImage(image, templates) };
}

/** Where nothing is said of it, it is as the containers name it: earlier versions looked nothing up. */
function readImage(said: unknown, templates: PodTemplates): StoredImage | null {
  const { given, used, unresolved } = (said ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof given === 'string' && typeof used === 'string') {
    return { given, used, ...(typeof unresolved === 'string' ? { unresolved } : {}) };
  }
  const containers = Object.values(templates).flatMap((template) => template.spec?.containers ?? []);
  const image = containers.find(({ name }) => name === APP_CONTAINER_NAME)?.image;
  return image === undefined ? null : { given: image, used: image };
}
