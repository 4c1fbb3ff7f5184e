import { z } from 'zod';
import type { BodyIssue } from '../core/body-issue.ts';
import { argumentsSchema } from '../kubernetes/container.ts';
import { byteLength } from '../kubernetes/text.ts';
import { rejectDuplicates } from '../kubernetes/unique.ts';
import { MAX_RELEASE_BYTES, releaseShape } from './release-schema.ts';
import { DEFAULT_PORT, type RunSettings, type Variable } from './run-settings.ts';
import { fromSecretReferences, MAX_SECRET_REFERENCES_BYTES } from './secret-reference-schema.ts';
import { referenceProblem } from './variable-references.ts';
import { variableNameSchema, variableValueSchema } from './variable-schema.ts';

/** The run settings in requests, and in the custom resource. */

/** Maximum number of variables. */
export const MAX_VARIABLES = 512;
/**
 * Maximum size of all variables together, as JSON. A ControllerRevision contains them five times, beside four times
 * MAX_SPEC_BYTES (spec-rules.ts). etcd accepts 1.5 MiB per object.
 */
export const MAX_VARIABLES_BYTES = 64 * 1024;
/** Maximum size of all commands together, as JSON. A ControllerRevision contains them twice. */
export const MAX_COMMANDS_BYTES = 64 * 1024;

/** Why the JSON of a value is too large; null: it is not. */
function sizeProblem(value: unknown, most: number): string | null {
  const size = byteLength(JSON.stringify(value));
  return size <= most ? null : `must not be larger than ${most} bytes as JSON, but has ${size} bytes`;
}

function rejectLarger(value: unknown, most: number, ctx: Pick<z.core.$RefinementCtx, 'addIssue'>): void {
  const message = sizeProblem(value, most);
  if (message !== null) ctx.addIssue({ code: 'custom', message });
}

/** An issue with its path below the run settings. */
interface SettingIssue {
  readonly path: (string | number)[];
  readonly message: string;
}

/** References that no value may contain. The paths are below `env`. */
function referenceIssues(env: readonly Variable[]): SettingIssue[] {
  return env.flatMap((variable, index) => {
    const message = referenceProblem(variable);
    return message === null ? [] : [{ path: [index, 'value'], message }];
  });
}

/** What the schemas of requests reject, and the schema of the custom resource accepts. */
export function runSettingsIssues({
  env = [],
  commands = {},
  secretReferences = [],
  releaseCommand = [],
}: RunSettings): SettingIssue[] {
  const references = fromSecretReferences(secretReferences);
  const sizes = [
    { path: ['env'], message: sizeProblem(env, MAX_VARIABLES_BYTES) },
    { path: ['commands'], message: sizeProblem(commands, MAX_COMMANDS_BYTES) },
    { path: ['secretReferences'], message: sizeProblem(references, MAX_SECRET_REFERENCES_BYTES) },
    { path: ['releaseCommand'], message: sizeProblem(releaseCommand, MAX_RELEASE_BYTES) },
  ];
  return [
    ...sizes.flatMap(({ path, message }) => (message === null ? [] : [{ path, message }])),
    ...referenceIssues(env).map(({ path, message }) => ({ path: ['env', ...path], message })),
  ];
}

/** The issue of commands that are too large together, although those of the request are not. */
export function mergedCommandIssues(merged: RunSettings, sent: unknown): BodyIssue[] {
  const msg = sent == null ? null : sizeProblem(merged.commands ?? {}, MAX_COMMANDS_BYTES);
  return msg === null ? [] : [{ loc: ['source_revision_config', 'commands'], msg, type: 'too_big' }];
}

/** A port. */
export const portSchema = z.int().min(1).max(65_535);

const portBodySchema = portSchema
  .nullish()
  .describe(
    `Port on which the api component serves HTTP. PORT, Service, probes, routes and network policies follow it. Default: ${DEFAULT_PORT}.`,
  );

const COMMAND = 'Program to run, which replaces the entry point of the image. $(NAME) expands to a variable.';
const ARGUMENTS =
  'Arguments of the program, which replace those of the image. $(NAME) expands to a variable.';

/** The command of a component in requests. */
export const commandBodySchema = z
  .strictObject({
    command: argumentsSchema.nullish().describe(COMMAND),
    args: argumentsSchema.nullish().describe(ARGUMENTS),
  })
  .describe('How a component runs the image. Absent members are those of the image.');

/** The commands of a request. */
export const commandsBodySchema = z
  .strictObject({
    api: commandBodySchema.nullish().describe('The component that serves HTTP.'),
    queue: commandBodySchema.nullish().describe('The component that processes queued tasks.'),
    orchestrator: commandBodySchema.nullish().describe('The component that schedules work for executors.'),
    executor: commandBodySchema.nullish().describe('The component that executes scheduled work.'),
  })
  .superRefine((commands, ctx) => rejectLarger(commands, MAX_COMMANDS_BYTES, ctx))
  .describe(
    'Commands of the components, so that one ordinary image can be all of them. A component with a command exists, with default sizes if resource_spec has none.',
  )
  .meta({
    examples: [{ api: { args: ['web'] }, queue: { command: ['/bin/sh', '-c'], args: ['exec ./worker'] } }],
  });

/** A variable in requests and in the custom resource. */
export const variableSchema = z
  .strictObject({
    name: variableNameSchema.describe('Name of the variable. No secret can have the same name.'),
    value: variableValueSchema.describe(
      'Value. $(NAME) expands to a variable that Berth sets or that is earlier in the list, but not to a secret. $$ is one $.',
    ),
  })
  .describe('An environment variable of the app container that is not secret.')
  .meta({ examples: [{ name: 'DATABASE_URL', value: '$(DATABASE_URI)' }] });

/** The variables of a request. */
export const envBodySchema = z
  .array(variableSchema)
  .max(MAX_VARIABLES)
  .superRefine((variables, ctx) => rejectDuplicates(variables, ({ name }) => name, 'name', ctx))
  .superRefine((variables, ctx) => rejectLarger(variables, MAX_VARIABLES_BYTES, ctx))
  .superRefine((env, ctx) => {
    for (const { path, message } of referenceIssues(env)) ctx.addIssue({ code: 'custom', path, message });
  })
  .describe(
    'The complete list of variables of the app container that are not secret. Responses, events and the custom resource show their values.',
  );

/** The fields of source_revision_config in requests. */
export const runSettingsShape = {
  port: portBodySchema,
  commands: commandsBodySchema.nullish(),
  env: envBodySchema.nullish(),
  ...releaseShape,
};
