import type { Deployment, Revision } from '../../domain/deployment/deployment.ts';
import type { BuildSpec } from '../resource/build.ts';
import { formerBuildName } from '../resource/names.ts';

/** The build of a git_host revision that has no image yet. */
export interface BuildInput {
  readonly revision: Revision;
  /** Where the image goes: registry/path, without tag and digest. */
  readonly repository: string;
}

const given = <Name extends string>(name: Name, value: string | null) =>
  (value === null ? {} : { [name]: value }) as { [N in Name]?: string };

/**
 * What a deployment asks to have built; null: nothing, or its record does not say from what. It does not need what is
 * switched off: a build goes on. On its way out nothing is built.
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
    // Operators of this version accept buildName too: the next version writes that one.
    secretName: formerBuildName({ namespace: deployment.namespace, name: deployment.appName }, revision.id),
  };
}
