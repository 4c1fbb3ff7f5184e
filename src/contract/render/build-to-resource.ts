import type { Deployment, Revision } from '../../domain/deployment/deployment.ts';
import type { BuildSpec } from '../resource/build.ts';
import { formerBuildName } from '../resource/names.ts';

/** Input for the build of a git_host revision without an image. */
export interface BuildInput {
  readonly revision: Revision;
  /** Repository of the image: registry/path, without tag and digest. */
  readonly repository: string;
}

const given = <Name extends string>(name: Name, value: string | null) =>
  (value === null ? {} : { [name]: value }) as { [N in Name]?: string };

/**
 * The requested build of a deployment. null: no build is requested, or the record has no repository. A build continues
 * while the deployment is switched off, but not while it is being deleted.
 */
export function toBuildSpec(deployment: Deployment, input: BuildInput | null | undefined): BuildSpec | null {
  const { repo_url: repoUrl, install_command, build_command } = deployment.sourceConfig;
  if (!input || repoUrl === null || deployment.deleteRequestedAt !== null) return null;
  const { revision, repository } = input;
  const { repo_ref, workflow_config_path: configPath, repo_commit_sha } = revision.sourceRevisionConfig;
  if (configPath === null) return null;
  return {
    revisionId: revision.id,
    number: revision.number,
    repoUrl,
    ...given('ref', repo_ref),
    ...given('commit', repo_commit_sha),
    configPath,
    ...given('installCommand', install_command),
    ...given('buildCommand', build_command),
    repository,
    // Operators of this version also accept buildName. The next version will write buildName.
    secretName: formerBuildName({ namespace: deployment.namespace, name: deployment.appName }, revision.id),
  };
}
