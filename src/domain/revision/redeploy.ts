import type { Revision, SourceRevisionConfig } from '../deployment/deployment.ts';
import type { Source } from '../deployment/source.ts';
import { pinnedImage } from '../net/image-reference.ts';

/** What a new revision is made of that repeats the content of one. */
export interface RepeatedContent {
  readonly sourceRevisionConfig: SourceRevisionConfig;
  /** Digest-pinned image; null: as the tag says at that time, or to be built. */
  readonly resolvedImage: string | null;
}

/**
 * `fresh`: tag or branch are looked up anew: a moved tag is resolved again, a repository built again.
 * `same`: byte for byte what the revision runs: the digest it was resolved or built to, and where that is not known,
 * the commit and the tag.
 */
export function repeatedContent(
  how: 'fresh' | 'same',
  source: Source,
  revision: Pick<Revision, 'sourceRevisionConfig' | 'resolvedImage'>,
): RepeatedContent {
  const { sourceRevisionConfig } = revision;
  const pinned = pinnedImage(sourceRevisionConfig.image_uri);
  if (how === 'same') return { sourceRevisionConfig, resolvedImage: revision.resolvedImage ?? pinned };
  if (source !== 'git_host') return { sourceRevisionConfig, resolvedImage: pinned };
  // What the server had set: image and commit.
  return {
    sourceRevisionConfig: { ...sourceRevisionConfig, image_uri: null, repo_commit_sha: null },
    resolvedImage: null,
  };
}
