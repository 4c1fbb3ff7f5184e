import { hasArtifact, storeArtifact } from '../cluster/image-registry/artifact.ts';
import { RegistryError } from '../cluster/image-registry/registry-error.ts';
import { uploadTag } from '../domain/uploads/upload.ts';
import {
  type SourceStore,
  SourceStoreError,
  type SourceStoreFailure,
} from '../hub/api/sources/source-store.ts';
import type { Owner, RegistryAuthority } from '../hub/registry/authority.ts';

/** Stores uploaded folders in the platform's registry (docs/registry.md). */

const ARTIFACT_TYPE = 'application/vnd.berth.source.v1';
const MEDIA_TYPE = 'application/vnd.berth.source.v1.tar+gzip';

const failureOf = ({ kind }: RegistryError): SourceStoreFailure => {
  if (kind === 'slow') return 'slow';
  return kind === 'unavailable' || kind === 'limited' ? 'unavailable' : 'failed';
};

async function withStoreErrors<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new SourceStoreError(failureOf(error), error.message, { cause: error });
  }
}

/**
 * @param authority null: the hub does not authorize access to the registry, so uploads would be readable for others
 * @param stallMs how long the registry may make no progress; default: a minute
 * @returns null: this installation stores no uploads
 */
export function createSourceStore(
  authority: RegistryAuthority | null,
  { insecure, stallMs }: { readonly insecure: boolean; readonly stallMs?: number },
): SourceStore | null {
  if (authority === null) return null;
  const repositoryOf = (owner: Owner) => ({
    repository: authority.sourceRepositoryOf(owner),
    insecure,
    token: () => authority.sourceToken(owner, new Date()),
  });
  return {
    async has(owner, digest, signal) {
      const artifact = { tag: uploadTag(digest), digest };
      return withStoreErrors(hasArtifact(repositoryOf(owner), artifact, signal, stallMs));
    },
    async store(owner, digest, content, signal) {
      const artifact = { tag: uploadTag(digest), artifactType: ARTIFACT_TYPE, mediaType: MEDIA_TYPE, digest };
      await withStoreErrors(storeArtifact(repositoryOf(owner), artifact, content, signal, stallMs));
    },
  };
}
