import { z } from 'zod';
import { argumentsSchema } from '../../domain/kubernetes/container.ts';
import { rejectDuplicates } from '../../domain/kubernetes/unique.ts';
import { releaseCommandSchema, releaseTimeoutSchema } from '../../domain/run-settings/release-schema.ts';
import { DEFAULT_PORT } from '../../domain/run-settings/run-settings.ts';
import { MAX_VARIABLES, portSchema } from '../../domain/run-settings/run-settings-schema.ts';
import {
  MAX_SECRET_REFERENCES,
  secretKeySchema,
  secretNameSchema,
} from '../../domain/run-settings/secret-reference-schema.ts';
import {
  MAX_VALUE_BYTES,
  variableNameSchema,
  variableValueSchema,
} from '../../domain/run-settings/variable-schema.ts';

/**
 * The run settings of the desired revision, as fields of `spec.podTemplate`. They are there and not in `spec.revision`,
 * because an operator that does not know a field of the pod template rejects the resource, whereas it ignores other unknown
 * fields (decision 0100).
 */

const commandSchema = z
  .strictObject({
    command: argumentsSchema.optional().describe('Program to run. Absent: the entry point of the image.'),
    args: argumentsSchema.optional().describe('Arguments of the program. Absent: those of the image.'),
  })
  .describe('How the component runs the image.');

const variableSchema = z
  .strictObject({
    name: variableNameSchema.describe('Name of the variable.'),
    value: variableValueSchema
      .max(MAX_VALUE_BYTES)
      .describe('Value. $(NAME) expands to a variable that Berth sets or that is earlier in the list.'),
  })
  .describe('An environment variable.');

const secretReferenceSchema = z
  .strictObject({
    name: variableNameSchema.describe('Name of the variable.'),
    secretName: secretNameSchema.describe('Name of a Secret in the namespace of the resource.'),
    secretKey: secretKeySchema.describe('Key in the data of the Secret.'),
  })
  .describe('An environment variable whose value is in a Secret.');

/** The fields of `spec.podTemplate`. */
export const runSettingsFields = {
  port: portSchema
    .optional()
    .describe(`Port on which the api component serves HTTP. Absent: ${DEFAULT_PORT}.`),
  commands: z
    .strictObject({
      api: commandSchema.optional().describe('The command of the api component.'),
      queue: commandSchema.optional().describe('The command of the queue component.'),
      orchestrator: commandSchema.optional().describe('The command of the orchestrator component.'),
      executor: commandSchema.optional().describe('The command of the executor component.'),
    })
    .optional()
    .describe(
      'Commands of the components. A command of a component that is not in spec.components has no effect.',
    ),
  env: z
    .array(variableSchema)
    .max(MAX_VARIABLES)
    .superRefine((variables, ctx) => rejectDuplicates(variables, ({ name }) => name, 'name', ctx))
    .optional()
    .describe('Environment variables of the app container that are not secret.'),
  secretReferences: z
    .array(secretReferenceSchema)
    .max(MAX_SECRET_REFERENCES)
    .superRefine((references, ctx) => rejectDuplicates(references, ({ name }) => name, 'name', ctx))
    .optional()
    .describe(
      'Environment variables of the app container whose values are in Secrets of the namespace. Pods read the values, and are replaced once when a value changes.',
    ),
  releaseCommand: releaseCommandSchema
    .optional()
    .describe(
      'Command that runs once with the image of the revision, before any pod of the revision starts. If it fails, the revision fails.',
    ),
  releaseTimeoutSeconds: releaseTimeoutSchema
    .optional()
    .describe('Time after which the release command is ended, in seconds. Default: 3600.'),
};

/** Run settings as stored templates record them. */
export const runSettingsSchema = z.object(runSettingsFields);
