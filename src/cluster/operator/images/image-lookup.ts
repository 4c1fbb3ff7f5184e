import { pullSecretName } from '../../../contract/resource/names.ts';
import { app } from '../../../workloads/names.ts';
import type { Observed } from '../observed.ts';
import { isSame } from '../rollout/target.ts';
import { isPaused } from '../status/conditions.ts';
import { decidedImage } from './revision-image.ts';

/** What has to be asked of a registry before a revision may begin. */
export interface ImageQuery {
  readonly namespace: string;
  /** As given. */
  readonly image: string;
  /** Names of the Secrets that its pods pull with. */
  readonly pullSecrets: readonly string[];
  /** Another wish is another question. */
  readonly id: string;
}

/** How far a look at the registry is. */
export type ImageLookup =
  /** It ends by `until` at the latest, in ms since the epoch. */
  | { readonly kind: 'pending'; readonly until: number }
  /** Pinned to its digest. */
  | { readonly kind: 'resolved'; readonly image: string }
  /** It is used as given. */
  | { readonly kind: 'unresolved'; readonly why: string }
  /** The registry says for certain that it is not there. */
  | { readonly kind: 'absent'; readonly why: string };

/** The image to look up; null: nothing is to begin, or the image of what begins is decided. */
export function imageQuery({ resource, storedTemplates }: Observed): ImageQuery | null {
  const { metadata, spec, status } = resource;
  const { image, id = '', number } = spec.revision;
  if (image === undefined || spec.suspend || spec.deletion !== undefined || isPaused(resource)) return null;
  // It is not tried again.
  if (status?.failedRevision?.id !== undefined && isSame(status.failedRevision, spec.revision)) return null;
  if (decidedImage(resource, storedTemplates) !== null) return null;
  const own = pullSecretName(app(resource));
  const names = (spec.podTemplate.imagePullSecrets ?? []).map(({ name }) => name);
  // The platform's own first: of many credentials, only some are tried.
  const pullSecrets = names.toSorted((a, b) => Number(b === own) - Number(a === own));
  return {
    namespace: metadata.namespace,
    image,
    pullSecrets,
    id: JSON.stringify([metadata.uid, id, number, image, pullSecrets]),
  };
}
