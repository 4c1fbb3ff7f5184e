import { pullSecretName } from '../../../contract/resource/names.ts';
import { app } from '../../../workloads/names.ts';
import type { Observed } from '../observed.ts';
import { isSame } from '../rollout/target.ts';
import { isPaused } from '../status/conditions.ts';
import { decidedImage } from './revision-image.ts';

/** A lookup that must complete before a revision can start. */
export interface ImageQuery {
  readonly namespace: string;
  /** The image as in the spec. */
  readonly image: string;
  /** Names of the pull Secrets of the pods that use the image. */
  readonly pullSecrets: readonly string[];
  /** Key that changes with the spec, so that an earlier result is not used. */
  readonly id: string;
}

/** State of a lookup. */
export type ImageLookup =
  /** In progress until `until` at the latest, in ms since the epoch. */
  | { readonly kind: 'pending'; readonly until: number }
  /** The image with its digest. */
  | { readonly kind: 'resolved'; readonly image: string }
  /** No digest; the image is used as in the spec. */
  | { readonly kind: 'unresolved'; readonly why: string }
  /** The registry has stated that the image does not exist. */
  | { readonly kind: 'absent'; readonly why: string };

/** The image to look up; null: no revision must start, or its image is already decided. */
export function imageQuery({ resource, storedTemplates }: Observed): ImageQuery | null {
  const { metadata, spec, status } = resource;
  const { image, id = '', number } = spec.revision;
  if (image === undefined || spec.suspend || spec.deletion !== undefined || isPaused(resource)) return null;
  // A failed revision is not retried.
  if (status?.failedRevision?.id !== undefined && isSame(status.failedRevision, spec.revision)) return null;
  if (decidedImage(resource, storedTemplates) !== null) return null;
  const own = pullSecretName(app(resource));
  const names = (spec.podTemplate.imagePullSecrets ?? []).map(({ name }) => name);
  // The platform's own Secret comes first, because only some of many credentials are tried.
  const pullSecrets = names.toSorted((a, b) => Number(b === own) - Number(a === own));
  return {
    namespace: metadata.namespace,
    image,
    pullSecrets,
    id: JSON.stringify([metadata.uid, id, number, image, pullSecrets]),
  };
}
