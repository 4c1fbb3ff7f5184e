import { z } from 'zod';
import { BUILD_PHASES, BUILD_STEP_NAMES, commitShaSchema } from '../../domain/builds/build.ts';
import { anyRepositoryUrlSchema } from '../../domain/net/https-url.ts';
import { procfileSchema } from '../../domain/run-settings/procfile.ts';
import { uploadDigestSchema } from '../../domain/uploads/upload.ts';
import { timeString } from './managed-deployment-parts.ts';

/**
 * Builds in the contract between hub and cluster: `spec.build` is the requested build, `status.build` its progress.
 * During a build, `spec.revision` keeps running. During the first build, `spec.revision` has no image yet. When the
 * build has succeeded, the hub makes the built revision the desired revision, with the image pinned to its digest.
 */

const text = (max: number) => z.string().min(1).max(max);

/** An uploaded folder in the registry of the platform. */
const buildUploadSchema = z
  .strictObject({
    digest: uploadDigestSchema,
    repository: text(512).describe(
      'Repository of the uploaded archive: registry/path, without tag and digest.',
    ),
    dockerfile: text(1024)
      .optional()
      .describe('Path of a Dockerfile in the folder, for which the whole folder is the context.'),
  })
  .describe('Uploaded folder to build. Absent: repoUrl is built.');

/**
 * The requested build: either of a repository or of an uploaded folder. The spec of a build contains no credentials. The credentials are in the Secret `secretName` in
 * the namespace of builds.
 */
export const buildSpecSchema = z
  .strictObject({
    revisionId: text(64).describe('Id of the revision that the image is built for.'),
    number: z.int().min(1).describe('Its number.'),
    repoUrl: anyRepositoryUrlSchema
      .optional()
      .describe('https URL of the repository. Absent: upload is built.'),
    upload: buildUploadSchema.optional(),
    ref: text(255)
      .optional()
      .describe('Branch, refs/tags/NAME or commit. Absent: the default branch of the repository.'),
    commit: commitShaSchema
      .optional()
      .describe(
        'The commit to build, from a push event. Absent: the newest commit of ref when the build starts.',
      ),
    configPath: text(1024)
      .optional()
      .describe(
        'workflow_config_path: file that describes the application. Absent: for an uploaded folder, its files decide.',
      ),
    installCommand: text(4096)
      .optional()
      .describe('Command that installs the dependencies, instead of the default command.'),
    buildCommand: text(4096)
      .optional()
      .describe('Command that runs after the installation of the dependencies.'),
    repository: text(512).describe('Repository of the image: registry/path, without tag and digest.'),
    secretName: text(253).describe(
      'Secret with the credentials for git host and registry, in the namespace of builds.',
    ),
  })
  .describe('The requested build. Absent if the build has succeeded, or if there is nothing to build.');
export type BuildSpec = z.infer<typeof buildSpecSchema>;

/**
 * Files with which the steps of a build pass data to each other, in the shared directory (`--workspace`). `source` writes
 * `context`, `dockerfile`, `commit` and `procfile`. `image` writes `metadata`. `result` reads the last three.
 */
export const BUILD_FILES = {
  /** Directory of the build context. */
  context: 'context',
  /** Directory with the `Dockerfile`, from the repository or generated. */
  dockerfile: 'dockerfile',
  /** File with the full id of the commit. Absent: an uploaded folder is built. */
  commit: 'commit',
  /** The commands of the Procfile as JSON (domain/run-settings/procfile.ts). Absent: the repository has none. */
  procfile: 'procfile.json',
  /** Metadata of BuildKit (`--metadata-file`): `containerimage.digest`. */
  metadata: 'metadata.json',
} as const;

/** Keys of the Secret of a build. */
export const BUILD_SECRET_KEYS = {
  /** User name for the git host. Absent: no credentials. */
  gitUsername: 'git-username',
  /** Token for the git host. */
  gitToken: 'git-token',
  /** Credentials for the registry, in the format of config.json of docker. */
  dockerConfig: 'config.json',
  /** Credentials for the repository of the uploaded folder, in the same format. Only the step `source` mounts them. */
  sourceConfig: 'source-config.json',
} as const;

/** Maximum size in bytes of a termination message, as in Kubernetes, which truncates longer ones. */
export const MAX_TERMINATION_BYTES = 4096;

/** Termination message of the last step of a build, as JSON. */
export const buildResultSchema = z.object({
  /** Absent: an uploaded folder was built. */
  commit: commitShaSchema.optional(),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  procfile: procfileSchema.optional(),
});
export type BuildResult = z.infer<typeof buildResultSchema>;

/** Termination message of a failed step, as JSON, without secrets. */
export const buildFailureSchema = z.strictObject({
  reason: text(64).describe(
    'One of BUILD_FAILURES (domain/builds/build.ts). Transient failures are retried.',
  ),
  message: text(3000).describe('Message with the next step, and with the last lines of output if they help.'),
});
export type BuildFailure = z.infer<typeof buildFailureSchema>;

/** Maximum length in characters. */
export const MAX_BUILD_MESSAGE = 4096;

/** The last observed state of the requested build. */
export const buildStatusSchema = z
  .object({
    revisionId: z.string().max(64).optional().describe('Id of the revision.'),
    number: z.int().describe('Number of the revision.'),
    phase: z.enum(BUILD_PHASES).describe('Phase of the build.'),
    step: z.enum(BUILD_STEP_NAMES).optional().describe('The step that is running or failed.'),
    attempt: z
      .int()
      .min(1)
      .optional()
      .describe(
        'Number of the attempt. Failures that the source does not cause are retried up to three attempts in all.',
      ),
    job: z.string().max(253).optional().describe("Name of the build's Job in the namespace of builds."),
    startTime: timeString.optional().describe('Start time of the Job.'),
    completionTime: timeString.optional().describe('Time of the final status.'),
    image: text(1024).optional().describe('The built image, pinned to its digest.'),
    commit: commitShaSchema.optional(),
    procfile: procfileSchema.optional(),
    reason: z.string().max(64).optional().describe('Reason, as one word.'),
    message: z.string().max(MAX_BUILD_MESSAGE).optional().describe('Message with the details.'),
  })
  .describe('State of the requested build.');
export type BuildStatus = z.infer<typeof buildStatusSchema>;

/** Whether the phase is final. */
export const hasBuildEnded = ({ phase }: Pick<BuildStatus, 'phase'>): boolean =>
  phase === 'Succeeded' || phase === 'Failed';
