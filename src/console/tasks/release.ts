import type { Revision, Task } from '../api/types.ts';

/** The release command of a revision and its task. */

export type ReleaseRevision = Pick<
  Revision,
  'id' | 'number' | 'source_revision_config' | 'effective_commands'
>;

/** Whether the revision has a release command. */
export const hasRelease = ({
  source_revision_config: config,
  effective_commands: commands,
}: ReleaseRevision) => config.release_command !== undefined || commands?.release !== undefined;

/** The task of the release command; null: it is not known. @param tasks newest first */
export const releaseTaskOf = (tasks: readonly Task[], { id }: ReleaseRevision): Task | null =>
  tasks.find(({ origin, revision_id: revisionId }) => origin === 'release' && revisionId === id) ?? null;
