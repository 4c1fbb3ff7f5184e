import type { ApplyWork } from '../../../contract/protocol/work-protocol.ts';
import { BUILD_SECRET_KEYS, type BuildSpec } from '../../../contract/resource/build.ts';
import { type GitProvider, gitUsername, isOnHost } from '../../../domain/builds/git-host.ts';
import type { Deployment } from '../../../domain/deployment/deployment.ts';
import type { RegistryAuthority } from '../../registry/authority.ts';

/** Creates the Secret with the credentials of a build. */

/** The integration that the deployment names, with its decrypted token. */
export interface GitCredential {
  readonly provider: GitProvider;
  readonly hostUrl: string;
  readonly token: string;
}

/** Lifetime of the credentials. This lifetime is long enough for a build that waits in the queue and is retried. */
const VALID_MS = 24 * 3600 * 1000;
/** The docker config without credentials, for a registry that requires no credentials. */
const NO_CREDENTIALS = JSON.stringify({ auths: {} });

/** The push credentials of a build, in the format of docker's config.json. */
export function buildPushCredential(
  authority: RegistryAuthority | null,
  deployment: Deployment,
  now: Date,
): string {
  if (authority === null) return NO_CREDENTIALS;
  const expiresAt = new Date(now.getTime() + VALID_MS);
  return authority.dockerConfig(authority.credential('build', deployment, expiresAt));
}

/** The credentials with which a build reads the uploaded folders of its deployment. Empty: it reads a repository. */
export function uploadCredential(
  authority: RegistryAuthority | null,
  deployment: Deployment,
  { upload }: BuildSpec,
  now: Date,
): Record<string, string> {
  if (authority === null || upload === undefined) return {};
  const expiresAt = new Date(now.getTime() + VALID_MS);
  const credential = authority.credential('source', deployment, expiresAt);
  return { [BUILD_SECRET_KEYS.sourceConfig]: authority.dockerConfig(credential) };
}

/** The token of an integration is sent only to its own host. */
function gitData({ repoUrl }: BuildSpec, git: GitCredential | null): Record<string, string> {
  if (git === null || repoUrl === undefined || !isOnHost(repoUrl, git.hostUrl)) return {};
  return {
    [BUILD_SECRET_KEYS.gitUsername]: gitUsername(git.provider),
    [BUILD_SECRET_KEYS.gitToken]: git.token,
  };
}

/** The Secret for the build of a spec. */
export function buildSecret(
  build: BuildSpec,
  git: GitCredential | null,
  { dockerConfig, upload }: { readonly dockerConfig: string; readonly upload: Record<string, string> },
): NonNullable<ApplyWork['build_secret']> {
  const data = { ...gitData(build, git), ...upload, [BUILD_SECRET_KEYS.dockerConfig]: dockerConfig };
  return { name: build.secretName, revision_id: build.revisionId, data };
}
