import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { nameHash } from '../../../domain/core/hash.ts';
import type { SecretReference } from '../../../domain/run-settings/run-settings.ts';
import type { PodTemplates } from '../../../workloads/desired-object.ts';
import { missingPart } from '../access/secret-readings.ts';
import type { Forbidden, Observed, ObservedResource, ObservedTemplates } from '../observed.ts';
import { shortened } from '../status/conditions.ts';
import { type FailedRevision, revisionOf } from './target.ts';
import type { Templates } from './template-selection.ts';

/**
 * Values of referenced Secrets. They are not part of the spec, so the pod templates have a marker of them. When a value
 * changes, templates with another marker are rendered, and the pods are replaced once.
 */

const referencesOf = ({ spec }: ObservedResource): readonly SecretReference[] =>
  spec.podTemplate.secretReferences ?? [];

/**
 * The marker of all referenced values of a resource. null: the resource has no references. undefined: not all values are
 * known, because a Secret or key is missing or may not be used. Each value was already hashed with a key that only Berth can read.
 */
export function secretMarker(
  resource: ObservedResource,
  { secrets }: Pick<Observed, 'secrets'>,
): string | null | undefined {
  const references = referencesOf(resource);
  if (references.length === 0) return null;
  const markers = references.map(({ secretName, secretKey }) => {
    const reading = secrets?.bySecret.get(secretName);
    return reading?.kind === 'found' ? reading.markers.get(secretKey) : undefined;
  });
  return markers.includes(undefined) ? undefined : nameHash(markers);
}

/** The templates with the marker. */
export function withSecretMarker(templates: PodTemplates, marker: string | null | undefined): PodTemplates {
  if (marker == null) return templates;
  const marked = ({ metadata, ...rest }: V1PodTemplateSpec): V1PodTemplateSpec => ({
    ...rest,
    metadata: {
      ...metadata,
      annotations: { ...metadata?.annotations, [ANNOTATIONS.secretReferences]: marker },
    },
  });
  return Object.fromEntries(Object.entries(templates).map(([name, template]) => [name, marked(template)]));
}

/**
 * Whether stored templates have the marker. While the marker is not known, any marker fits, so that nothing is rolled out.
 */
export function hasSecretMarker(stored: ObservedTemplates, marker: string | null | undefined): boolean {
  if (marker == null) return true;
  try {
    const [template] = Object.values(stored.templates());
    return template?.metadata?.annotations?.[ANNOTATIONS.secretReferences] === marker;
  } catch {
    // Another writer created these templates, so no pod runs from them.
    return false;
  }
}

/**
 * The references of a resource that may not be used. They are checked before every rollout, because the rules may have
 * changed.
 */
export function forbiddenReferences(
  resource: ObservedResource,
  { secrets }: Pick<Observed, 'secrets'>,
): Forbidden[] {
  return referencesOf(resource).flatMap(({ secretName }, index) => {
    const reading = secrets?.bySecret.get(secretName);
    if (reading?.kind !== 'refused') return [];
    const resourcePath = `spec.podTemplate.secretReferences[${index}].secretName`;
    const message = `the Secret ${secretName} ${reading.why}`;
    return [{ resourcePath, message, ofPodTemplate: false }];
  });
}

/** What is missing for a rollout, as a sentence without its end; null: nothing is missing. */
function missingFor(
  resource: ObservedResource,
  { secrets }: Observed,
): { readonly message: string; readonly reference: SecretReference; readonly index: number } | null {
  const found = referencesOf(resource).flatMap((reference, index) => {
    const what = missingPart(reference, secrets?.bySecret.get(reference.secretName));
    return what === null ? [] : [{ what, reference, index }];
  });
  const [first] = found;
  if (first === undefined) return null;
  const sentences = [...new Set(found.map(({ what }) => what))];
  return { ...first, message: sentences.join('; ') };
}

/** What a rollout waits for, as a sentence without its end; null: it waits for no Secret. */
export function awaitedSecrets(observed: Observed): string | null {
  return observed.secrets?.waitsUntil == null
    ? null
    : (missingFor(observed.resource, observed)?.message ?? null);
}

/** Until when a rollout waits for a missing Secret or key, in ms since the epoch; null: it does not wait. */
export function secretsAwaitedUntil(
  resource: ObservedResource,
  observed: Observed,
  wanted: Templates,
): number | null {
  const until = observed.secrets?.waitsUntil ?? null;
  if (wanted.store === null || until === null) return null;
  return missingFor(resource, observed) === null ? null : until;
}

/** Maximum length of the detail of a failure source. */
const MAX_DETAIL = 1000;

/** The failure of a revision whose Secret or key does not exist, before a rollout starts; null: no such failure. */
export function missingSecrets(
  resource: ObservedResource,
  observed: Observed,
  wanted: Templates,
): FailedRevision | null {
  if (wanted.store === null || observed.secrets?.waitsUntil != null) return null;
  const missing = missingFor(resource, observed);
  if (missing === null) return null;
  const { message, reference, index } = missing;
  const { id } = resource.spec.revision;
  const remedy = id === undefined ? '' : '; create it, then redeploy';
  // No templates were stored, so the next templates may get the same name.
  return {
    ...revisionOf(resource.spec.revision),
    reason: 'SecretReferenceMissing',
    message: `${shortened(message)}${remedy}`,
    failureSource: {
      kind: 'Secret',
      object: reference.secretName,
      field: `secret_references[${index}]`,
      detail: shortened(message, MAX_DETAIL),
    },
    recordGeneration: resource.spec.recordGeneration,
  };
}
