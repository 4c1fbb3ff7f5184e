import type { Deployment, Revision } from '../../domain/deployment/deployment.ts';
import type { Upload } from '../../domain/uploads/upload.ts';
import type { BuildSpec } from '../resource/build.ts';
import { formerBuildName } from '../resource/names.ts';

/** Input for the build of a revision without an image. */
export interface BuildInput {
  readonly revision: Revision;
  /** Repository of the image: registry/path, without tag and digest. */
  readonly repository: string;
  /** Repository of uploaded folders. null: the hub does not authorize access to the registry, so it stores none. */
  readonly sourceRepository: string | null;
}

const given = <Name extends string>(name: Name, value: string | null) =>
  (value === null ? {} : { [name]: value }) as { [N in Name]?: string };

type BuildSource = Omit<BuildSpec, 'revisionId' | 'number' | 'repository' | 'secretName'>;

function repositorySource(
  { sourceConfig }: Deployment,
  { sourceRevisionConfig }: Revision,
): BuildSource | null {
  const { repo_url: repoUrl, install_command, build_command } = sourceConfig;
  const { repo_ref, workflow_config_path: configPath, repo_commit_sha } = sourceRevisionConfig;
  if (repoUrl === null || configPath === null) return null;
  return {
    repoUrl,
    ...given('ref', repo_ref),
    ...given('commit', repo_commit_sha),
    configPath,
    ...given('installCommand', install_command),
    ...given('buildCommand', build_command),
  };
}

function uploadSource(upload: Upload, { sourceRepository }: BuildInput): BuildSource | null {
  if (sourceRepository === null) return null;
  const { digest, dockerfile, workflow_config_path, install_command, build_command } = upload;
  return {
    upload: { digest, repository: sourceRepository, ...given('dockerfile', dockerfile ?? null) },
    ...given('configPath', workflow_config_path ?? null),
    ...given('installCommand', install_command ?? null),
    ...given('buildCommand', build_command ?? null),
  };
}

/**
 * The requested build of a deployment. null: no build is requested, or the record has no repository and no upload. A build continues
 * while the deployment is switched off, but not while it is being deleted.
 */
export function toBuildSpec(deployment: Deployment, input: BuildInput | null | undefined): BuildSpec | null {
  if (!input || deployment.deleteRequestedAt !== null) return null;
  const { revision, repository } = input;
  const source =
    revision.sourceRevisionConfig.upload === undefined
      ? repositorySource(deployment, revision)
      : uploadSource(revision.sourceRevisionConfig.upload, input);
  if (source === null) return null;
  return {
    revisionId: revision.id,
    number: revision.number,
    ...source,
    repository,
    // Operators of this version also accept buildName. The next version will write buildName.
    secretName: formerBuildName({ namespace: deployment.namespace, name: deployment.appName }, revision.id),
  };
}
