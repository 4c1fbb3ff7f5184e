import { z } from 'zod';
import { domainsBodySchema, domainsOf } from '../app-hosts/domains.ts';
import { NAME_FORM, nameSchema } from '../core/name.ts';
import { descendingPathSchema, dnsLabelSchema } from '../kubernetes/names.ts';
import { line, text } from '../kubernetes/text.ts';
import { rejectDuplicates } from '../kubernetes/unique.ts';
import { anyRepositoryUrlSchema, appUrlSchema } from '../net/https-url.ts';
import { imageUriSchema } from '../net/image-reference.ts';
import { podSettingsBodyShape, podSettingsOf } from '../pod-settings/pod-settings.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import { resourceSpecInputSchema } from '../resource-spec/resource-spec-input.ts';
import { toRelease } from '../run-settings/release-schema.ts';
import { mergeRunSettings } from '../run-settings/run-settings.ts';
import { runSettingsShape } from '../run-settings/run-settings-schema.ts';
import { secretReferencesBodySchema, toSecretReferences } from '../run-settings/secret-reference-schema.ts';
import { variableNameSchema, variableValueSchema } from '../run-settings/variable-schema.ts';
import { schedulesBodySchema, schedulesOf } from '../schedules/schedules.ts';
import type { Secret, SourceConfig, SourceRevisionConfig } from './deployment.ts';
import { exceeds, secretBytes } from './secret-size.ts';
import { deploymentTypeSchema, sourceSchema } from './source.ts';

/** The bodies of `POST` and `PATCH /v2/deployments`: the schema of each field. Unknown fields are rejected. */

const MAX_COMMAND = 4096;
const MAX_PATH = 1024;
const MAX_REF = 255;
/** Maximum number of secrets. */
export const MAX_SECRETS = 1000;
/** Maximum total size of all secrets. This maximum is below the limit of Kubernetes, which is 1 MiB per Secret. */
const MAX_SECRETS_BYTES = 768 * 1024;

/** A UUID of any version, converted to lower case. */
export const uuidSchema = z.guid('must be a UUID').toLowerCase();

/**
 * Matches refs that are invalid according to `git check-ref-format`, and refs with a leading '-', which git could read
 * as an option.
 */
const BAD_REF = /^[-/.]|[\s~^:?*[\\]|\.\.|@\{|\/\/|\/\.|[/.]$|\.lock(\/|$)|^@$/;
const repoRefSchema = line(MAX_REF)
  .min(1)
  .refine((ref) => !BAD_REF.test(ref), 'must be the name of a branch, a tag (refs/tags/…) or a commit');

const commandSchema = text(MAX_COMMAND).min(1);

const listenerConfigSchema = z
  .strictObject({
    cluster_namespace: dnsLabelSchema
      .nullish()
      .describe(
        "Namespace in the listener's cluster. The namespace must be in the listener's list. Default: the first namespace of the list.",
      ),
  })
  .describe("Location of the deployment in the listener's cluster.");

/** source_config of both bodies. */
export const sourceConfigBodySchema = z
  .strictObject({
    integration_id: uuidSchema.nullish().describe('Credentials for the git host. git_host only.'),
    repo_url: anyRepositoryUrlSchema.nullish().describe('https URL of the repository. git_host only.'),
    deployment_type: deploymentTypeSchema.nullish(),
    build_on_push: z
      .boolean()
      .nullish()
      .describe('Build and deploy each push to the tracked branch. git_host only.'),
    custom_url: appUrlSchema.nullish().describe('https URL of the app. Set by the server for git_host.'),
    resource_spec: resourceSpecInputSchema
      .nullish()
      .describe('Sizes and placement. Unset fields have their default (see effective_resource_spec).'),
    listener_id: uuidSchema
      .nullish()
      .describe('Listener to deploy through. Default: the listener of the platform.'),
    listener_config: listenerConfigSchema.nullish(),
    install_command: commandSchema
      .nullish()
      .describe('Command that installs the dependencies of the build. git_host only.'),
    build_command: commandSchema.nullish().describe('Command that builds the app. git_host only.'),
    domains: domainsBodySchema,
    schedules: schedulesBodySchema,
    ...podSettingsBodyShape,
  })
  .describe('Configuration whose fields change without a new revision, or cannot change.');
export type SourceConfigBody = z.infer<typeof sourceConfigBodySchema>;

const revisionConfigShape = {
  repo_ref: repoRefSchema
    .nullish()
    .describe('Branch, tag or commit. git_host only; default: the default branch.'),
  workflow_config_path: descendingPathSchema
    .min(1)
    .max(MAX_PATH)
    .nullish()
    .describe('Path of the config file in the repository. git_host only.'),
  image_uri: imageUriSchema.nullish().describe('Image to run. external_image and internal_image.'),
  ...runSettingsShape,
};

/** repo_commit_sha, which only the server sets. Clients can send null. */
export const createRevisionConfigSchema = z
  .strictObject({
    ...revisionConfigShape,
    repo_commit_sha: z
      .null({ error: 'must not be set: only the server sets it' })
      .optional()
      .describe('Set by the server. A request can only send null.'),
  })
  .describe('Configuration whose change creates a new revision.');

export const patchRevisionConfigSchema = z
  .strictObject({
    ...revisionConfigShape,
    repo_commit_sha: z
      .string()
      .max(64)
      .nullish()
      .describe('Set by the server. A request can send null or the current value.'),
  })
  .describe('Configuration whose change creates a new revision.');

/** A secret of both bodies. */
export const secretBodySchema = z
  .strictObject({
    name: variableNameSchema.describe('Name of the environment variable.'),
    value: variableValueSchema.describe(
      'Value of the variable. If a PATCH sends the mask (**********), the stored value stays.',
    ),
  })
  .describe('An environment variable of the app container.');

/**
 * Why a list of secrets is too large; null: it is not.
 * @param stored the list that it replaces
 */
export function secretBytesProblem(
  secrets: readonly Secret[],
  stored: readonly Secret[] = [],
): string | null {
  const isLarge = exceeds(secretBytes(secrets), MAX_SECRETS_BYTES, secretBytes(stored));
  return isLarge ? `must not be larger than ${MAX_SECRETS_BYTES} bytes together` : null;
}

/** The complete list of secrets. */
export const secretsBodySchema = z
  .array(secretBodySchema)
  .max(MAX_SECRETS)
  .superRefine((secrets, ctx) => rejectDuplicates(secrets, (secret) => secret.name, 'name', ctx))
  .superRefine((secrets, ctx) => {
    const message = secretBytesProblem(secrets);
    if (message !== null) ctx.addIssue({ code: 'custom', message });
  })
  .describe(
    'The complete list of secrets. Each secret becomes an environment variable of the app container.',
  );

/** Names that clients and proxies resolve as parts of a path, so that they cannot stand in a URL. */
const DOT_SEGMENTS: ReadonlySet<string> = new Set(['.', '..']);

/** The name of a deployment, which is also part of the path of a PUT. */
export const deploymentNameSchema = nameSchema.refine(
  (name) => !DOT_SEGMENTS.has(name),
  "must not be '.' or '..', because these names cannot be part of a URL",
);

/**
 * Body of `POST /v2/deployments`. null has the same meaning as an absent field, also for fields that the source does
 * not allow.
 */
export const createBodySchema = z
  .strictObject({
    name: deploymentNameSchema.describe(
      `Name of the deployment, unique among the deployments of the tenant. 1 to 128 printable, visible characters. ` +
        `${NAME_FORM} The name cannot be changed.`,
    ),
    source: sourceSchema,
    source_config: sourceConfigBodySchema,
    source_revision_config: createRevisionConfigSchema,
    secrets: secretsBodySchema,
    secret_references: secretReferencesBodySchema.nullish(),
  })
  .describe('The deployment to create.');
export type CreateBody = z.infer<typeof createBodySchema>;

/** Body of `PATCH /v2/deployments/{id}`. Absent fields do not change. For the meaning of null, see patch.ts. */
export const patchBodySchema = z
  .strictObject({
    source_config: sourceConfigBodySchema.nullish(),
    source_revision_config: patchRevisionConfigSchema.nullish(),
    secrets: secretsBodySchema.nullish(),
    secret_references: secretReferencesBodySchema.nullish(),
  })
  .describe('The changes.');
export type PatchBody = z.infer<typeof patchBodySchema>;

/** A resource_spec without unset fields (absent or null). */
export function compactSpec(spec: ResourceSpec): ResourceSpec {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value != null));
}

/** source_config as stored. */
export function toSourceConfig(body: SourceConfigBody): SourceConfig {
  return {
    integration_id: body.integration_id ?? null,
    repo_url: body.repo_url ?? null,
    deployment_type: body.deployment_type ?? null,
    build_on_push: body.build_on_push ?? null,
    custom_url: body.custom_url ?? null,
    resource_spec: body.resource_spec == null ? null : compactSpec(body.resource_spec),
    listener_id: body.listener_id ?? null,
    listener_config:
      body.listener_config == null
        ? null
        : { cluster_namespace: body.listener_config.cluster_namespace ?? null },
    install_command: body.install_command ?? null,
    build_command: body.build_command ?? null,
    ...domainsOf(body),
    ...schedulesOf(body),
    ...podSettingsOf(body),
  };
}

/** source_revision_config as stored, with the references to Secrets, which are part of a revision too. */
export function toSourceRevisionConfig(
  body: CreateBody['source_revision_config'],
  references?: CreateBody['secret_references'],
): SourceRevisionConfig {
  return {
    repo_ref: body.repo_ref ?? null,
    workflow_config_path: body.workflow_config_path ?? null,
    image_uri: body.image_uri ?? null,
    repo_commit_sha: null,
    ...mergeRunSettings(
      {},
      { ...body, ...toRelease(body), secretReferences: toSecretReferences(references) },
    ),
  };
}
