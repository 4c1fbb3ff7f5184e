import { z } from 'zod';
import { secretBytes } from '../deployment/secret-size.ts';
import { argumentsSchema } from '../kubernetes/container.ts';
import { byteLength } from '../kubernetes/text.ts';
import { rejectDuplicates } from '../kubernetes/unique.ts';
import { DEFAULT_PORT } from './run-settings.ts';
import { variableNameSchema, variableValueSchema } from './variable-schema.ts';

/** The run settings in requests, and in the custom resource. */

/** Maximum number of variables. */
export const MAX_VARIABLES = 512;
/**
 * Maximum size of all variables together. Each of the four templates of a ControllerRevision contains them, and etcd accepts
 * 1.5 MiB per object.
 */
export const MAX_VARIABLES_BYTES = 128 * 1024;
/** Maximum size of all commands together. */
export const MAX_COMMANDS_BYTES = 64 * 1024;

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
  .superRefine((commands, ctx) => {
    const size = byteLength(JSON.stringify(commands));
    if (size > MAX_COMMANDS_BYTES)
      ctx.addIssue({
        code: 'custom',
        message: `must not be larger than ${MAX_COMMANDS_BYTES} bytes as JSON, but has ${size} bytes`,
      });
  })
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
  .superRefine((variables, ctx) => {
    if (secretBytes(variables) > MAX_VARIABLES_BYTES)
      ctx.addIssue({
        code: 'custom',
        message: `must not be larger than ${MAX_VARIABLES_BYTES} bytes together`,
      });
  })
  .describe(
    'The complete list of variables of the app container that are not secret. Responses, events and the custom resource show their values.',
  );

/** The fields of source_revision_config in requests. */
export const runSettingsShape = {
  port: portBodySchema,
  commands: commandsBodySchema.nullish(),
  env: envBodySchema.nullish(),
};
