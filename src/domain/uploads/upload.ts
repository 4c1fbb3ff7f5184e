import { z } from 'zod';
import type { Source } from '../deployment/source.ts';
import { line, text } from '../kubernetes/text.ts';

/** An uploaded folder, from which an internal_image revision is built. */

/** Digest of an upload: that of the packed archive. It is also the digest of its blob in the registry. */
export const uploadDigestSchema = z
  .string()
  .max(71)
  .regex(/^sha256:[0-9a-f]{64}$/)
  .describe('SHA-256 of the uploaded archive.')
  .meta({ examples: ['sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'] });

/** Maximum duration of an upload, in milliseconds. */
export const UPLOAD_MS = 15 * 60_000;

/** Maximum length of a path or of a command of the build settings, in characters. They are parts of a URL. */
const MAX_PATH = 1024;
const MAX_COMMAND = 2048;

/** A path in the folder, without `..`. */
const pathSchema = line(MAX_PATH)
  .min(1)
  .refine((path) => !path.startsWith('/') && !path.endsWith('/'), 'must be the relative path of a file')
  .refine((path) => !path.split('/').includes('..'), "must not contain '..'");

const commandSchema = text(MAX_COMMAND).min(1);

/** How an upload is built. The settings are recorded with the upload. */
export const uploadSettingsShape = {
  workflow_config_path: pathSchema
    .optional()
    .describe('Path of the config file in the folder. The folder of the file is the build context.'),
  dockerfile: pathSchema
    .optional()
    .describe(
      'Path of a Dockerfile in the folder. The whole folder is the build context. Not together with workflow_config_path.',
    ),
  install_command: commandSchema
    .optional()
    .describe('Command that installs the dependencies, if the folder has no Dockerfile.'),
  build_command: commandSchema
    .optional()
    .describe('Command that builds the app, if the folder has no Dockerfile.'),
};

/** An upload as the hub stores it in a revision. Settings that were not sent are absent. */
export const uploadSchema = z
  .strictObject({ digest: uploadDigestSchema, ...uploadSettingsShape })
  .describe('The uploaded folder from which the revision is built. Absent: the revision has no upload.');
export type Upload = z.infer<typeof uploadSchema>;

/** Whether the image of a revision is built: from a repository, or from an uploaded folder. */
export const isBuilt = (source: Source, { upload }: { readonly upload?: Upload | undefined }): boolean =>
  source === 'git_host' || upload !== undefined;

/** Digits of a digest in messages. */
const SHOWN_DIGITS = 12;

/** An abbreviated digest: `sha256:` and the first digits. */
export const shortDigest = (digest: string): string => digest.slice(0, 'sha256:'.length + SHOWN_DIGITS);

/** The tag of the artifact of an upload. */
export const uploadTag = (digest: string): string => digest.replace(':', '-');

/** The digest of the upload that a tag belongs to. null: it belongs to no upload. */
export function taggedUpload(tag: string): string | null {
  return /^sha256-[0-9a-f]{64}$/.test(tag) ? tag.replace('-', ':') : null;
}

/** The algorithm of a digest in RFC 9530, with its value: 32 bytes in base64. */
const SHA256 = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

/**
 * The SHA-256 of a Content-Digest header (RFC 9530) as `sha256:HEX`. Other algorithms are ignored. null: the header has no
 * valid SHA-256.
 */
export function contentDigest(header: string): string | null {
  const values = header.split(',').flatMap((member) => SHA256.exec(member.trim())?.[1] ?? []);
  const [value] = values;
  if (value === undefined || values.length > 1) return null;
  return `sha256:${Buffer.from(value, 'base64').toString('hex')}`;
}
