import { ANNOTATIONS, hostHash } from '../../../contract/resource/names.ts';
import { wantedDomains } from '../../../workloads/objects/app-url.ts';
import type { Resource } from '../resource-view.ts';

/** Additional hosts that a custom resource no longer has, whose certificates may still exist, as hashes (`hostHash`). */

const HASH = /^[0-9a-f]{10}$/;
/** Maximum number of noted hosts. Any account that writes custom resources can also write the annotation. */
const MAX_NOTED = 200;

/** The hosts that the annotation names. */
export function notedDomains({ metadata }: Pick<Resource, 'metadata'>): string[] {
  const noted = metadata.annotations?.[ANNOTATIONS.formerDomains]?.split(',') ?? [];
  return [...new Set(noted)].filter((hash) => HASH.test(hash)).slice(0, MAX_NOTED);
}

/** The hosts that remain noted, and those that the next spec no longer has. */
export function formerDomainHashes(live: Resource | undefined, next: unknown): string[] {
  if (live === undefined) return [];
  const wanted = new Set(wantedDomains(next).map(hostHash));
  const left = [...notedDomains(live), ...wantedDomains(live.spec).map(hostHash)];
  return [...new Set(left)].filter((hash) => !wanted.has(hash)).slice(0, MAX_NOTED);
}
