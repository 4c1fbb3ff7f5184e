import { parseDocument } from 'yaml';
import { z } from 'zod';
import { line, text } from '../../domain/kubernetes/text.ts';
import { StepFailure } from './step-failure.ts';

/**
 * The configuration file of an application in a repository (workflow_config_path). Berth generates a Dockerfile from
 * this file.
 */

export const LANGUAGES = ['node', 'python'] as const;
export type Language = (typeof LANGUAGES)[number];

/** `24`, `3.13`, `22.11.0`. */
const VERSION = /^\d{1,3}(\.\d{1,4}){0,2}$/;
/** YAML reads 3.10 as the number 3.1. Therefore only a whole number is accepted without quotes. */
const versionSchema = z
  .union([z.int().min(0).transform(String), z.string()], {
    error: 'must be a version in quotes, such as "3.13"',
  })
  .refine((version) => VERSION.test(version), 'must be a version such as "24" or "3.13"');

const command = text(4096).min(1);
const word = text(4096).refine((value) => !value.includes('\0'), 'must not contain NUL');

/** A file of the repository: relative to the configuration, without '..'. */
const entrypoint = line(1024)
  .min(1)
  .refine((path) => !path.startsWith('/') && !path.split('/').includes('..'), 'must be a path below the file')
  .refine((path) => !path.startsWith('-'), "must not start with '-'");

export const workflowConfigSchema = z
  .strictObject({
    language: z.enum(LANGUAGES).describe('Language of the application.'),
    version: versionSchema.describe('Version of the language. The version determines the base image.'),
    entrypoint: entrypoint.optional().describe('File that starts the application.'),
    command: z
      .array(word)
      .min(1)
      .max(100)
      .optional()
      .describe('Program and arguments that start the application, instead of entrypoint.'),
    install: command
      .optional()
      .describe('Command that installs dependencies, unless install_command is set.'),
    build: command.optional().describe('Command that builds the application, unless build_command is set.'),
  })
  .superRefine(({ entrypoint, command }, ctx) => {
    if ((entrypoint === undefined) === (command === undefined)) {
      const message = 'set either entrypoint (a file) or command (program and arguments)';
      ctx.addIssue({ code: 'custom', message, path: ['entrypoint'] });
    }
  });
export type WorkflowConfig = z.infer<typeof workflowConfigSchema>;

const MAX_PROBLEMS = 5;

/**
 * Parses a configuration in YAML or JSON (which is valid YAML).
 * @param path workflow_config_path, for messages
 * @throws StepFailure that names the file and the field
 */
export function parseWorkflowConfig(path: string, content: string): WorkflowConfig {
  // Nested aliases could expand a small file to a very large one, and no configuration needs them.
  const document = parseDocument(content, { prettyErrors: true, uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined) throw invalid(path, [error.message.split('\n')[0] ?? 'is not YAML']);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 });
  } catch {
    throw invalid(path, ['must not contain aliases']);
  }
  const result = workflowConfigSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path: field, message }) =>
    field.length === 0 ? message : `${field.join('.')}: ${message}`,
  );
  throw invalid(path, problems);
}

function invalid(path: string, problems: readonly string[]): StepFailure {
  const shown = problems.slice(0, MAX_PROBLEMS).join('; ');
  return new StepFailure('BuildConfigInvalid', `${path} is invalid: ${shown}`);
}
