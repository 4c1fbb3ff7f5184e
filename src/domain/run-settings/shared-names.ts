import type { BodyIssue } from '../core/body-issue.ts';
import type { Secret } from '../deployment/deployment.ts';
import type { RunSettings } from './run-settings.ts';

/** Secrets and env share one set of names, because one would silently hide the other in the container. */

interface Named {
  readonly sourceRevisionConfig: RunSettings;
  readonly secrets: readonly Secret[];
}

/** Which of the two lists the request contains. The issue is about a list that was sent. */
interface SentLists {
  readonly sentEnv: boolean;
  readonly sentSecrets: boolean;
}

/** The names that are in both lists. Empty if the request contains neither list, because stored lists share no name. */
export function sharedNameIssues(
  { sourceRevisionConfig: { env = [] }, secrets }: Named,
  { sentEnv, sentSecrets }: SentLists,
): BodyIssue[] {
  if (!sentEnv && !sentSecrets) return [];
  const type = 'name_shared';
  const names = new Set((sentEnv ? secrets : env).map(({ name }) => name));
  return (sentEnv ? env : secrets).flatMap(({ name }, index) => {
    if (!names.has(name)) return [];
    return sentEnv
      ? [
          {
            loc: ['source_revision_config', 'env', index, 'name'],
            msg: `must not be the name of a secret, but there is a secret '${name}'`,
            type,
          },
        ]
      : [
          {
            loc: ['secrets', index, 'name'],
            msg: `must not be the name of a variable in source_revision_config.env, but there is a variable '${name}'`,
            type,
          },
        ];
  });
}
