import { z } from 'zod';
import { byteLength, text } from '../kubernetes/text.ts';
import { TASK_LIMITS } from '../tasks/task.ts';
import type { RunSettings } from './run-settings.ts';

/** The release command of a revision in requests and in the custom resource. It has the bounds of any task. */

/** Maximum size of the release command, as JSON. A ControllerRevision contains it once. */
export const MAX_RELEASE_BYTES = 16 * 1024;

export const releaseCommandSchema = z
  .array(text(TASK_LIMITS.argumentLength))
  .min(1)
  .max(TASK_LIMITS.arguments);

/** In seconds. */
export const releaseTimeoutSchema = z.int().min(1).max(TASK_LIMITS.maxTimeoutSeconds);

/** The fields of source_revision_config in requests. */
export const releaseShape = {
  release_command: releaseCommandSchema
    .superRefine((command, ctx) => {
      const size = byteLength(JSON.stringify(command));
      if (size <= MAX_RELEASE_BYTES) return;
      const message = `must not be larger than ${MAX_RELEASE_BYTES} bytes as JSON, but has ${size} bytes`;
      ctx.addIssue({ code: 'custom', message });
    })
    .nullish()
    .describe(
      'Program and arguments that run once with the image of the revision, before any of its pods starts, such as a migration. If the command fails, the revision fails, and the active revision continues to serve. $(NAME) expands to a variable. Write a command that can run twice.',
    )
    .meta({ examples: [['./manage', 'migrate', '--no-input']] }),
  release_timeout_seconds: releaseTimeoutSchema
    .nullish()
    .describe(
      `Time after which the release command is ended, in seconds. Without a release command, it has no effect. Default: ${TASK_LIMITS.defaultTimeoutSeconds}.`,
    ),
};

interface ReleaseBody {
  readonly release_command?: string[] | null | undefined;
  readonly release_timeout_seconds?: number | null | undefined;
}

/** The fields of a request with the names of run settings. */
export const toRelease = ({ release_command, release_timeout_seconds }: ReleaseBody) => ({
  releaseCommand: release_command,
  releaseTimeoutSeconds: release_timeout_seconds,
});

/** Run settings as in requests and responses. Fields that are not set are absent. */
export const fromRelease = ({ releaseCommand, releaseTimeoutSeconds }: RunSettings) => ({
  ...(releaseCommand === undefined ? {} : { release_command: releaseCommand }),
  ...(releaseTimeoutSeconds === undefined ? {} : { release_timeout_seconds: releaseTimeoutSeconds }),
});
