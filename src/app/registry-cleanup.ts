import { RegistryError } from '../cluster/image-registry/registry-error.ts';
import {
  type RepositoryOptions,
  removeImage,
  type TaggedImage,
  taggedImages,
} from '../cluster/image-registry/repository.ts';
import { taggedRevision } from '../domain/builds/build-tags.ts';
import { fullJitter } from '../domain/core/backoff.ts';
import type { Logger } from '../domain/core/logger.ts';
import { parseImageReference } from '../domain/kubernetes/image.ts';
import { taggedUpload } from '../domain/uploads/upload.ts';
import type { RegistryAuthority } from '../hub/registry/authority.ts';
import {
  CLEANING_LEASE_SECONDS,
  claimCleanings,
  discardCleanings,
  finishCleaning,
  neededImages,
  postponeCleaning,
  type RepositoryCleaning,
} from '../hub/store/builds/repository-cleanups.ts';
import { claimUploads, forgetUploads, keepUploads } from '../hub/store/builds/uploads.ts';
import type { Database } from '../hub/store/core/database.ts';

/** The hub deletes images and uploaded folders from its registry that no revision needs (docs/registry.md). */

export interface CleaningOptions {
  readonly database: Database;
  /** null: the hub does not authorize access to the registry. */
  readonly authority: RegistryAuthority | null;
  readonly insecure: boolean;
  /** Number of newest revisions of a deployment whose images are kept. */
  readonly kept: number;
  readonly logger: Logger;
}

/** One pass over a batch of due repositories. Concurrent processes take different repositories. */
export interface RegistryCleaning {
  run(signal: AbortSignal): Promise<void>;
}

const AT_ONCE = 10;
const BACKOFF = { baseMs: 60_000, capMs: 6 * 3600_000 };
/** Retry interval for a registry that does not support deletion, because its configuration may change. */
const UNSUPPORTED_SECONDS = 24 * 3600;

/** The images to delete. An image of a needed revision is kept, even if it also has other tags. */
async function removable(
  { database, kept }: CleaningOptions,
  { deploymentId, whole }: RepositoryCleaning,
  images: readonly TaggedImage[],
): Promise<TaggedImage[]> {
  const needed = await database.platform.read((reader) => neededImages(reader, deploymentId, kept));
  // The deployment was deleted with keep_workloads, so its workloads still need their images.
  if (needed.length === 0 && !whole) return [];
  const numbers = new Set(needed.map(({ number }) => number));
  const isNeeded = ({ tag }: TaggedImage) => {
    const number = taggedRevision(tag);
    return number === null ? !whole : numbers.has(number);
  };
  const digests = new Set([
    ...needed.map(({ image }) => (image === null ? null : (parseImageReference(image)?.digest ?? null))),
    // A build may have pushed an image that is not reported yet: the same source can produce the image of an old revision.
    ...images.filter(isNeeded).map(({ digest }) => digest),
  ]);
  return images.filter((image) => !isNeeded(image) && !digests.has(image.digest));
}

async function clean(
  options: CleaningOptions,
  authority: RegistryAuthority,
  cleaning: RepositoryCleaning,
  signal: AbortSignal,
): Promise<void> {
  const owner = { id: cleaning.deploymentId, tenantId: cleaning.tenantId, appName: cleaning.appName };
  const repository: RepositoryOptions = {
    repository: authority.repositoryOf(owner),
    insecure: options.insecure,
    token: () => authority.cleaningToken(owner, new Date()),
  };
  const isAsked = (tag: string) => cleaning.whole || taggedRevision(tag) !== null;
  const images = await taggedImages(repository, isAsked, signal);
  // Read after the list of images, so that an image that is pushed between the two reads is not in the list.
  const gone = await removable(options, cleaning, images);
  for (const digest of new Set(gone.map((image) => image.digest)))
    await removeImage(repository, digest, signal);
  if (gone.length === 0) return;
  options.logger.info(
    { deployment: owner.id, tenant: owner.tenantId, tags: gone.map(({ tag }) => tag) },
    'removed images that no revision needs from the registry',
  );
}

/** Removes the uploads with these digests. @param digests null: all */
async function removeUploads(
  options: CleaningOptions,
  authority: RegistryAuthority,
  cleaning: RepositoryCleaning,
  digests: ReadonlySet<string> | null,
  signal: AbortSignal,
): Promise<void> {
  const owner = { id: cleaning.deploymentId, tenantId: cleaning.tenantId, appName: cleaning.appName };
  const repository: RepositoryOptions = {
    repository: authority.sourceRepositoryOf(owner),
    insecure: options.insecure,
    token: () => authority.sourceToken(owner, new Date()),
  };
  const isAsked = (tag: string) => digests === null || digests.has(taggedUpload(tag) ?? '');
  const artifacts = await taggedImages(repository, isAsked, signal);
  for (const { digest } of artifacts) await removeImage(repository, digest, signal);
  if (artifacts.length === 0) return;
  options.logger.info(
    { deployment: owner.id, tenant: owner.tenantId, tags: artifacts.map(({ tag }) => tag) },
    'removed uploaded folders that no revision needs from the registry',
  );
}

/** The records of a deleted deployment are gone, so that the registry alone knows its uploads. */
async function cleanUploads(
  options: CleaningOptions,
  authority: RegistryAuthority,
  cleaning: RepositoryCleaning,
  signal: AbortSignal,
): Promise<void> {
  const { platform } = options.database;
  const { deploymentId, whole } = cleaning;
  if (whole) return removeUploads(options, authority, cleaning, null, signal);
  const digests = new Set(
    await platform.transaction((transaction) => claimUploads(transaction, deploymentId)),
  );
  if (digests.size === 0) return;
  try {
    await removeUploads(options, authority, cleaning, digests, signal);
  } catch (error) {
    await platform.transaction((transaction) => keepUploads(transaction, deploymentId));
    throw error;
  }
  await platform.transaction((transaction) => forgetUploads(transaction, deploymentId));
}

/** Creates the cleanup of the registry of the platform. */
export function createRegistryCleaning(options: CleaningOptions): RegistryCleaning {
  const { authority, logger } = options;
  const { platform } = options.database;
  let isUnsupportedLogged = false;
  const failed = async (cleaning: RepositoryCleaning, error: unknown) => {
    const isUnsupported = error instanceof RegistryError && error.kind === 'unsupported';
    const seconds = isUnsupported
      ? UNSUPPORTED_SECONDS
      : BACKOFF.baseMs / 1000 + fullJitter(cleaning.attempts, BACKOFF, Math.random) / 1000;
    await platform.transaction((transaction) => postponeCleaning(transaction, cleaning, seconds));
    if (isUnsupported && isUnsupportedLogged) return;
    isUnsupportedLogged ||= isUnsupported;
    logger.warn(
      { deployment: cleaning.deploymentId, err: String(error) },
      isUnsupported
        ? 'unused images stay in the registry; next: enable deletion in its configuration (docs/registry.md)'
        : 'failed to remove unused images from the registry; next: none, it is retried',
    );
  };
  const one = async (owned: RegistryAuthority, cleaning: RepositoryCleaning, signal: AbortSignal) => {
    try {
      await clean(options, owned, cleaning, signal);
      await cleanUploads(options, owned, cleaning, signal);
      await platform.transaction((transaction) => finishCleaning(transaction, cleaning));
    } catch (error) {
      // After an abort, another process cleans this repository, or this process does so after a restart.
      if (!signal.aborted) await failed(cleaning, error);
    }
  };
  return {
    async run(signal) {
      if (authority === null) return platform.transaction(discardCleanings);
      while (!signal.aborted) {
        const due = await platform.transaction((transaction) =>
          claimCleanings(transaction, { limit: AT_ONCE, leaseSeconds: CLEANING_LEASE_SECONDS }),
        );
        for (const cleaning of due) await one(authority, cleaning, signal);
        if (due.length < AT_ONCE) return;
      }
    },
  };
}
