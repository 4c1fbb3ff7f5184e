import { z } from 'zod';
import type { SourceRevisionConfig } from '../../../domain/deployment/deployment.ts';
import { COMMAND_SOURCES, runsRelease, sourcedCommands } from '../../../domain/run-settings/procfile.ts';
import { fromRelease } from '../../../domain/run-settings/release-schema.ts';
import { type RunSettings, runSettingsOf } from '../../../domain/run-settings/run-settings.ts';
import { portSchema } from '../../../domain/run-settings/run-settings-schema.ts';
import { fromSecretReferences } from '../../../domain/run-settings/secret-reference-schema.ts';

/**
 * The run settings in responses. Fields that are not set are absent, not null, so that clients of earlier versions see no
 * difference.
 */

const commandSchema = z
  .object({
    command: z.array(z.string()).optional().describe('Program, which replaces the entry point of the image.'),
    args: z.array(z.string()).optional().describe('Arguments of the program.'),
  })
  .meta({ id: 'Command', description: 'How a component runs the image.' });

const commandsSchema = z
  .object({
    api: commandSchema.optional(),
    queue: commandSchema.optional(),
    orchestrator: commandSchema.optional(),
    executor: commandSchema.optional(),
  })
  .meta({
    id: 'Commands',
    description: 'Commands of the components. Other components run the command of the image.',
    examples: [{ api: { args: ['web'] }, queue: { command: ['/bin/sh', '-c'], args: ['exec ./worker'] } }],
  });

const variableSchema = z
  .object({
    name: z.string().describe('Name of the environment variable.'),
    value: z.string().describe('Value as it was sent.'),
  })
  .meta({
    id: 'Variable',
    description: 'An environment variable that is not secret.',
    examples: [{ name: 'DATABASE_URL', value: '$(DATABASE_URI)' }],
  });

/** The fields of source_revision_config in responses. */
export const shownRunSettings = {
  port: portSchema.optional().describe('Port on which the api component serves HTTP. Absent: 8000.'),
  commands: commandsSchema.optional(),
  env: z.array(variableSchema).optional().describe('Environment variables that are not secret.'),
  release_command: z
    .array(z.string())
    .optional()
    .describe('Program and arguments that run once before the rollout. Absent: none.'),
  release_timeout_seconds: z
    .int()
    .optional()
    .describe('Time after which the release command is ended, in seconds. Absent: 3600.'),
};

const secretReferenceSchema = z
  .object({
    name: z.string().describe('Name of the environment variable.'),
    secret_name: z.string().describe('Name of the Secret in the namespace of the deployment.'),
    secret_key: z.string().describe('Key in the data of the Secret.'),
  })
  .meta({
    id: 'SecretReference',
    description:
      'An environment variable whose value is in a Secret of the cluster. The value is not known to this API.',
    examples: [{ name: 'STRIPE_KEY', secret_name: 'payments', secret_key: 'api-key' }],
  });

/** The field beside `secrets` in responses. */
export const shownSecretReferences = {
  secret_references: z
    .array(secretReferenceSchema)
    .optional()
    .describe('References to Secrets of the cluster. Absent if the list is empty.'),
};

/** The references of a deployment or revision. The field is absent if the list is empty. */
export const presentSecretReferences = ({ secretReferences = [] }: RunSettings) =>
  secretReferences.length === 0 ? {} : { secret_references: fromSecretReferences(secretReferences) };

/** source_revision_config in a response, with its fields in the order of the contract. */
export function presentRevisionConfig(config: SourceRevisionConfig) {
  const { repo_ref, workflow_config_path, image_uri, repo_commit_sha } = config;
  const {
    secretReferences: _references,
    procfile: _procfile,
    releaseCommand: _command,
    releaseTimeoutSeconds: _timeout,
    releaseSkipped: _skipped,
    ...settings
  } = runSettingsOf(config);
  const release = fromRelease(config);
  return { repo_ref, workflow_config_path, image_uri, repo_commit_sha, ...settings, ...release };
}

const sourcedCommandSchema = commandSchema
  .extend({
    source: z
      .enum(COMMAND_SOURCES)
      .describe(
        'commands: from commands or release_command of source_revision_config. procfile: from the Procfile of the repository.',
      ),
  })
  .meta({
    id: 'EffectiveCommand',
    description: 'How a component runs the image, and where this comes from.',
  });

/** The commands with which the components of a revision run. */
export const effectiveCommandsSchema = z
  .object({
    api: sourcedCommandSchema.optional(),
    queue: sourcedCommandSchema.optional(),
    orchestrator: sourcedCommandSchema.optional(),
    executor: sourcedCommandSchema.optional(),
    release: sourcedCommandSchema.optional(),
  })
  .meta({
    id: 'EffectiveCommands',
    description:
      'The commands with which the components run: those of the Procfile, unless source_revision_config.commands has another one. Other components run the command of the image. release: the release command.',
    examples: [{ api: { command: ['/bin/sh', '-c'], args: ['node server.js'], source: 'procfile' } }],
  });

/** The effective commands of a revision in a response. A revision that only runs the command of its image has none. */
export function presentCommands(config: SourceRevisionConfig) {
  const effective = sourcedCommands(config);
  return effective === undefined ? {} : { effective_commands: effective };
}

/** Whether a new revision runs its release command, for a dry run. @param config null: there is no new revision */
export const releaseOutlook = (config: RunSettings | null): { runs_release?: true } =>
  config !== null && runsRelease(config) ? { runs_release: true } : {};
