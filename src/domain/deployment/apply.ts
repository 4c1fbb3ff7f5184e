import { z } from 'zod';
import { podSettingsAsPatch } from '../pod-settings/pod-settings.ts';
import { COMPONENTS } from '../resource-spec/components.ts';
import { RESOURCE_SPEC_FIELDS } from '../resource-spec/resource-spec.ts';
import {
  type CreateBody,
  createBodySchema,
  type PatchBody,
  patchRevisionConfigSchema,
  type SourceConfigBody,
} from './deployment-bodies.ts';

/**
 * The body of `PUT /v2/deployments/by-name/{name}`: the whole desired state. A change is expressed as a PATCH, so that both
 * requests have the same rules.
 */

/** As the body of a POST, but the path has the name, secrets can be kept, and a client can send back what it read. */
export const applyBodySchema = z
  .strictObject({
    name: createBodySchema.shape.name
      .optional()
      .describe('Name of the deployment. If it is sent, it must be the name of the path.'),
    source: createBodySchema.shape.source,
    source_config: createBodySchema.shape.source_config,
    source_revision_config: patchRevisionConfigSchema,
    secrets: createBodySchema.shape.secrets
      .nullish()
      .describe('The complete list of secrets. If the list is absent, the stored secrets do not change.'),
    secret_references: createBodySchema.shape.secret_references,
  })
  .describe('The complete desired state of a deployment, without fields that are not set.');
export type ApplyBody = z.infer<typeof applyBodySchema>;

const CONFIG_FIELDS = Object.keys(createBodySchema.shape.source_config.shape) as (keyof SourceConfigBody)[];
const REVISION_FIELDS = [
  'repo_ref',
  'workflow_config_path',
  'repo_commit_sha',
  'port',
  'env',
  'release_command',
  'release_timeout_seconds',
] as const;

/** An object with all these fields. Absent fields are null. */
const whole = <T extends object>(fields: readonly (keyof T)[], given: T): T =>
  Object.fromEntries(fields.map((field) => [field, given[field] ?? null])) as T;

function clearedConfig(config: SourceConfigBody): SourceConfigBody {
  const spec = config.resource_spec;
  return {
    ...whole(CONFIG_FIELDS, config),
    resource_spec: spec == null ? null : whole(RESOURCE_SPEC_FIELDS, spec),
    ...podSettingsAsPatch(config),
  };
}

/**
 * The PATCH with the effect of a PUT on a deployment that exists: absent fields are null. What null cannot clear keeps its
 * value (see patch.ts). The image of an internal_image cannot be cleared either, so an absent image keeps the stored one.
 */
export function applyAsPatch(body: ApplyBody): PatchBody {
  const { source, source_config, source_revision_config: revision, secrets } = body;
  const { image_uri = null } = revision;
  const { commands } = revision;
  const keepsImage = source === 'internal_image' && image_uri === null;
  return {
    source_config: clearedConfig(source_config),
    source_revision_config: {
      ...whole(REVISION_FIELDS, revision),
      commands: commands == null ? null : whole(COMPONENTS, commands),
      ...(keepsImage ? {} : { image_uri }),
    },
    secrets,
    secret_references: body.secret_references ?? null,
  };
}

/** The POST with the effect of a PUT of a new name. */
export function applyAsCreation(name: string, body: ApplyBody): CreateBody {
  const { source, source_config, source_revision_config: revision, secrets } = body;
  return {
    name,
    source,
    source_config,
    source_revision_config: { ...revision, repo_commit_sha: null },
    secrets: secrets ?? [],
    secret_references: body.secret_references,
  };
}
