import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { contentHash } from '../domain/core/hash.ts';
import { normalTemplate } from '../domain/kubernetes/normal-form.ts';
import { TEMPLATE_HASH_LABEL } from './labels.ts';

/** Whether the API server makes the same pods of both templates, however they are written. */
export function sameMeaning(one: V1PodTemplateSpec, other: V1PodTemplateSpec): boolean {
  return meaningHash(one) === meaningHash(other);
}

/** Of two templates that mean the same: the same hash. */
export function meaningHash(template: V1PodTemplateSpec): string {
  const { labels, ...metadata } = template.metadata ?? {};
  // It is the hash of how the rest is written.
  const { [TEMPLATE_HASH_LABEL]: _, ...others } = labels ?? {};
  return contentHash(normalTemplate({ ...template, metadata: { ...metadata, labels: others } }));
}
