import { z } from 'zod';
import { envFieldRefSchema, envResourceFieldRefSchema } from './downward-api.ts';
import { configMapKeySchema, dnsSubdomainSchema, envVarNameSchema } from './names.ts';
import { text } from './text.ts';
import { rejectDuplicates } from './unique.ts';

/** Maximum length of a value. Linux rejects environment strings above 128 KiB (MAX_ARG_STRLEN). */
const MAX_ENV_VALUE = 131_072 - 1024;

const keyRefSchema = z.strictObject({
  name: dnsSubdomainSchema.describe('Name of the object.'),
  key: configMapKeySchema.describe('Key in the object.'),
  optional: z.boolean().optional().describe('The container may start without the object or the key.'),
});

const envVarSourceSchema = z
  .strictObject({
    fieldRef: envFieldRefSchema.optional(),
    resourceFieldRef: envResourceFieldRefSchema.optional(),
    configMapKeyRef: keyRefSchema.optional().describe('A key of a ConfigMap.'),
    secretKeyRef: keyRefSchema.optional().describe('A key of a Secret.'),
  })
  .superRefine((source, ctx) => {
    const given = Object.entries(source).filter(([, value]) => value !== undefined);
    const [, second] = given;
    if (given.length === 0) {
      ctx.addIssue({
        code: 'custom',
        message: 'must contain one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef',
      });
    }
    if (second)
      ctx.addIssue({
        code: 'custom',
        path: [second[0]],
        message: 'must not be set, because valueFrom must have exactly one source',
      });
  })
  .describe('Source of the value.');

/** An environment variable of a container. */
export const envVarSchema = z
  .strictObject({
    name: envVarNameSchema.describe("Name of the variable: printable ASCII without '='."),
    value: text(MAX_ENV_VALUE)
      .optional()
      .describe('Value. $(NAME) expands to a variable that is defined earlier. Default: empty.'),
    valueFrom: envVarSourceSchema.meta({ freeForm: true }).optional(),
  })
  .superRefine((variable, ctx) => {
    if (variable.value && variable.valueFrom) {
      ctx.addIssue({ code: 'custom', path: ['valueFrom'], message: 'must not be set together with value' });
    }
  })
  .describe('An environment variable.');
export type EnvVar = z.infer<typeof envVarSchema>;

/** Environment variables of one container. Names are unique, because server-side apply rejects duplicates. */
export const envSchema = z
  .array(envVarSchema)
  .max(512)
  .superRefine((variables, ctx) => rejectDuplicates(variables, (variable) => variable.name, 'name', ctx));

const objectRefSchema = z.strictObject({
  name: dnsSubdomainSchema.describe('Name of the object.'),
  optional: z.boolean().optional().describe('Whether the container may start without the object.'),
});

/** All keys of a ConfigMap or Secret as environment variables. */
export const envFromSchema = z
  .strictObject({
    prefix: envVarNameSchema.or(z.literal('')).optional().describe('Prefix of each key.'),
    configMapRef: objectRefSchema.optional().describe('The ConfigMap.'),
    secretRef: objectRefSchema.optional().describe('The Secret.'),
  })
  .superRefine((source, ctx) => {
    const message = 'exactly one of configMapRef and secretRef must be set';
    if (source.configMapRef && source.secretRef)
      ctx.addIssue({ code: 'custom', path: ['secretRef'], message });
    if (!source.configMapRef && !source.secretRef) ctx.addIssue({ code: 'custom', message });
  })
  .meta({ freeForm: true })
  .describe('All keys of a ConfigMap or Secret as variables.');
export type EnvFromSource = z.infer<typeof envFromSchema>;
