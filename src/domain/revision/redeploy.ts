import type { Revision, SourceRevisionConfig } from '../deployment/deployment.ts';
import type { Source } from '../deployment/source.ts';
import { pinnedImage } from '../net/image-reference.ts';
import { runsRelease, withoutBuildResult } from '../run-settings/procfile.ts';
import { isBuilt } from '../uploads/upload.ts';

/** Content of a new revision that repeats an existing revision. */
export interface RepeatedContent {
  readonly sourceRevisionConfig: SourceRevisionConfig;
  /** Image with its digest. null: the tag is resolved again, or the image is built. */
  readonly resolvedImage: string | null;
}

/**
 * `fresh`: tag and branch are resolved again, so that a moved tag results in another image, and a repository or an uploaded
 * folder is built again. `same`: the exact content of the revision, with its digest or, if the digest is not known, its commit and tag.
 */
export function repeatedContent(
  how: 'fresh' | 'same',
  source: Source,
  revision: Pick<Revision, 'sourceRevisionConfig' | 'resolvedImage'>,
): RepeatedContent {
  const { sourceRevisionConfig } = revision;
  const pinned = pinnedImage(sourceRevisionConfig.image_uri);
  if (how === 'same') return { sourceRevisionConfig, resolvedImage: revision.resolvedImage ?? pinned };
  if (!isBuilt(source, sourceRevisionConfig)) return { sourceRevisionConfig, resolvedImage: pinned };
  // Omits the values that the server has set: image, commit and Procfile.
  return {
    sourceRevisionConfig: withoutBuildResult(sourceRevisionConfig),
    resolvedImage: null,
  };
}

/**
 * A rollback does not run the release command, because the former version was released before. Any other new revision
 * does.
 */
export function withRelease(config: SourceRevisionConfig, runs: boolean): SourceRevisionConfig {
  const { releaseSkipped: _, ...others } = config;
  return runs || !runsRelease(others) ? others : { ...others, releaseSkipped: true };
}
