import { z } from 'zod';
import { volumeFieldRefSchema, volumeResourceFieldRefSchema } from './downward-api.ts';
import { configMapKeySchema, dnsSubdomainSchema, volumeFilePathSchema } from './names.ts';
import { line } from './text.ts';

/**
 * Files in volumes whose content comes from other objects: keys of ConfigMaps and Secrets, fields of the pod, and
 * tokens.
 */

const MAX_MODE = 0o777;
const MAX_FILES = 256;

const modeSchema = z.int().min(0).max(MAX_MODE);

export const defaultModeSchema = modeSchema.describe(
  'Permission bits of files without their own mode: 0 to 511 (octal 0777). Default 420 (0644).',
);

const keyToPathSchema = z
  .strictObject({
    key: configMapKeySchema.describe('Key to project.'),
    path: volumeFilePathSchema.describe("Relative path of the file; without '..'."),
    mode: modeSchema.optional().describe('Permission bits of this file: 0 to 511 (octal 0777).'),
  })
  .describe('A key that becomes a file.');

export const keyToPathListSchema = z
  .array(keyToPathSchema)
  .max(MAX_FILES)
  .describe('Keys to project, with their paths. Default: every key becomes a file with the name of the key.');

const downwardApiFileSchema = z
  .strictObject({
    path: volumeFilePathSchema.describe("Relative path of the file; without '..'."),
    fieldRef: volumeFieldRefSchema.optional(),
    resourceFieldRef: volumeResourceFieldRefSchema.optional(),
    mode: modeSchema.optional().describe('Permission bits of this file: 0 to 511 (octal 0777).'),
  })
  .superRefine((file, ctx) => {
    const message = 'exactly one of fieldRef and resourceFieldRef must be set';
    if (file.fieldRef && file.resourceFieldRef)
      ctx.addIssue({ code: 'custom', path: ['resourceFieldRef'], message });
    if (!file.fieldRef && !file.resourceFieldRef)
      ctx.addIssue({ code: 'custom', path: ['fieldRef'], message });
  })
  .describe('A field of the pod that becomes a file.');

export const downwardApiFilesSchema = z.array(downwardApiFileSchema).max(MAX_FILES).describe('The files.');

const projectedObjectShape = {
  name: dnsSubdomainSchema.describe('Name of the object.'),
  items: keyToPathListSchema.optional(),
  optional: z.boolean().optional().describe('Whether the pod may start without the object or its keys.'),
};

const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;

/**
 * One source of a projected volume. The four allowed kinds exist in every supported cluster. clusterTrustBundle and
 * podCertificate are disabled by default.
 */
export const projectedSourceSchema = z
  .strictObject({
    configMap: z.strictObject(projectedObjectShape).optional().describe('Keys of a ConfigMap.'),
    secret: z.strictObject(projectedObjectShape).optional().describe('Keys of a Secret.'),
    downwardAPI: z
      .strictObject({ items: downwardApiFilesSchema.optional() })
      .optional()
      .describe('Fields of the pod.'),
    serviceAccountToken: z
      .strictObject({
        audience: line(1024).optional().describe('Audience of the token. Default: the API server.'),
        expirationSeconds: z
          .int()
          .min(MIN_TOKEN_SECONDS)
          .max(MAX_TOKEN_SECONDS)
          .optional()
          .describe('Lifetime of the token in seconds, at least 600. Default 3600.'),
        path: volumeFilePathSchema.describe("Relative path of the token's file; without '..'."),
      })
      .optional()
      .describe('A token of the ServiceAccount of the pod.'),
  })
  .superRefine((source, ctx) => {
    const given = Object.entries(source).filter(([, value]) => value !== undefined);
    const [, second] = given;
    if (given.length === 0)
      ctx.addIssue({
        code: 'custom',
        message: 'must contain one of configMap, secret, downwardAPI, serviceAccountToken',
      });
    if (second)
      ctx.addIssue({
        code: 'custom',
        path: [second[0]],
        message: 'must not be set, because each entry must have exactly one source',
      });
  })
  .describe('A source of files.');
export type ProjectedSource = z.infer<typeof projectedSourceSchema>;

function pathsOf(source: ProjectedSource): [string, (string | number)[]][] {
  const lists = (['configMap', 'secret', 'downwardAPI'] as const).flatMap((kind) =>
    (source[kind]?.items ?? []).map((file, index): [string, (string | number)[]] => [
      file.path,
      [kind, 'items', index, 'path'],
    ]),
  );
  const token = source.serviceAccountToken?.path;
  return token === undefined ? lists : [...lists, [token, ['serviceAccountToken', 'path']]];
}

/** The sources of a projected volume. All sources share one directory, so paths must be unique. */
export const projectedSourcesSchema = z
  .array(projectedSourceSchema)
  .max(32)
  .superRefine((sources, ctx) => {
    const seen = new Set<string>();
    for (const [index, source] of sources.entries()) {
      for (const [path, at] of pathsOf(source)) {
        if (seen.has(path)) {
          ctx.addIssue({
            code: 'custom',
            path: [index, ...at],
            message: `must be unique in the volume, but '${path}' occurs twice`,
          });
        }
        seen.add(path);
      }
    }
  })
  .describe('Sources of the files.');
