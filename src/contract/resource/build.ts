import { z } from 'zod';
import { BUILD_PHASES, BUILD_STEP_NAMES, commitShaSchema } from '../../domain/builds/build.ts';
import { anyRepositoryUrlSchema } from '../../domain/net/https-url.ts';

/**
 * Builds in the contract between hub and cluster: `spec.build` says what is to be built, `status.build` how far it is.
 * It stands beside `spec.revision`, which goes on running meanwhile (the first build: which has no image yet). Once it is
 * built the hub makes its revision the wanted one, with the image pinned to its digest.
 */

const text = (max: number) => z.string().min(1).max(max);

/** What is to be built. No credential: these stand in the Secret `secretName` of the namespace of builds. */
export const buildSpecSchema = z
  .strictObject({
    revisionId: text(64).describe('Id of the revision that is to have the image.'),
    number: z.int().min(1).describe('Its number.'),
    repoUrl: anyRepositoryUrlSchema.describe('https URL of the repository.'),
    ref: text(255)
      .optional()
      .describe("Branch, refs/tags/NAME or commit; absent: the repository's default branch."),
    commit: commitShaSchema
      .optional()
      .describe(
        'The commit to build, where a push named it. Absent: the newest of ref when the build starts.',
      ),
    configPath: text(1024).describe('workflow_config_path: file that describes the application.'),
    installCommand: text(4096).optional().describe('Replaces the installation of dependencies.'),
    buildCommand: text(4096).optional().describe('Runs after it.'),
    repository: text(512).describe('Where the image goes: registry/path, without tag and digest.'),
    secretName: text(253).describe(
      'Secret with the credentials for git host and registry, in the namespace of builds.',
    ),
  })
  .describe('The image that is to be built; absent once it is, or when nothing is to be.');
export type BuildSpec = z.infer<typeof buildSpecSchema>;

/**
 * What the steps of a build leave for one another, below the directory that they share (`--workspace`).
 * `source` leaves `context`, `dockerfile` and `commit`; `image` leaves `metadata`; `result` reads the last two.
 */
export const BUILD_FILES = {
  /** Directory: what the Dockerfile may COPY from. */
  context: 'context',
  /** Directory that holds the file `Dockerfile`, the repository's or a generated one. */
  dockerfile: 'dockerfile',
  /** The full id of the commit, in a line. */
  commit: 'commit',
  /** What BuildKit says of the image (`--metadata-file`): `containerimage.digest`. */
  metadata: 'metadata.json',
} as const;

/** Arguments of the steps, `--flag=value`, by which they are told places in their containers; no tenant writes into these. */
export const PLACE_FLAGS = ['--workspace', '--credentials', '--local', '--metadata-file'] as const;

/** Keys of the Secret that a build gets. */
export const BUILD_SECRET_KEYS = {
  /** User name for the git host; absent: the repository is read without credentials. */
  gitUsername: 'git-username',
  /** Token for the git host. */
  gitToken: 'git-token',
  /** Credentials for the registry, as docker has them in config.json. */
  dockerConfig: 'config.json',
} as const;

/** What the last step of a build writes to its termination message, as JSON. */
export const buildResultSchema = z.strictObject({
  commit: commitShaSchema,
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
});
export type BuildResult = z.infer<typeof buildResultSchema>;

/** What a step that fails writes to its termination message, as JSON; no secret in it. */
export const buildFailureSchema = z.strictObject({
  reason: text(64).describe('Of BUILD_FAILURES (domain/build.ts); those that may pass are tried again.'),
  message: text(3000).describe('What to do about it, with the last lines where they help.'),
});
export type BuildFailure = z.infer<typeof buildFailureSchema>;

/** Characters. */
export const MAX_BUILD_MESSAGE = 4096;

/** The build that the spec asks for, as last observed. */
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
        'Which attempt it is: what failed through no fault of the source is tried again, a few times.',
      ),
    job: z.string().max(253).optional().describe('Its Job in the namespace of builds.'),
    startedAt: z.string().max(40).optional().describe('When the Job began.'),
    finishedAt: z.string().max(40).optional().describe('Time of the final status.'),
    image: text(1024).optional().describe('What was built, pinned to its digest.'),
    commit: commitShaSchema.optional(),
    reason: z.string().max(64).optional().describe('Why, as one word.'),
    message: z.string().max(MAX_BUILD_MESSAGE).optional().describe('Message with the details.'),
  })
  .describe('The build that the spec asks for.');
export type BuildStatus = z.infer<typeof buildStatusSchema>;
