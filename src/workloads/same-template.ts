import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { contentHash } from '../domain/core/hash.ts';
import { normalTemplate } from '../domain/kubernetes/normal-form.ts';
import { TEMPLATE_HASH_LABEL } from './labels.ts';

/** Whether two templates describe the same pods, independent of their spelling. */
export function sameMeaning(one: V1PodTemplateSpec, other: V1PodTemplateSpec): boolean {
  return meaningHash(one) === meaningHash(other);
}

/** A hash that is equal for templates that describe the same pods. */
export function meaningHash(template: V1PodTemplateSpec): string {
  const { labels, ...metadata } = template.metadata ?? {};
  // The hash label is removed, because it is a hash of the spelling of the template.
  const { [TEMPLATE_HASH_LABEL]: _, ...others } = labels ?? {};
  return contentHash(normalTemplate({ ...template, metadata: { ...metadata, labels: others } }));
}
