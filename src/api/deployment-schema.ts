import { z } from 'zod';
import { conditionSchema } from '../domain/conditions.ts';
import { uuidSchema } from '../domain/deployment-bodies.ts';
import { effectiveResourceSpecSchema } from '../domain/effective-spec-schema.ts';
import { RESOURCE_SPEC_FIELDS, type ResourceSpec, resourceSpecSchema } from '../domain/resource-spec.ts';
import { deploymentTypeSchema, sourceSchema } from '../domain/source.ts';
import { DEPLOYMENT_STATUSES } from '../domain/states.ts';

/** A deployment as answered: the fields of the contract, each always there; what is unset is null. */

export const timeSchema = z.iso.datetime();

type Shown<T> = { [Field in keyof T]-?: Exclude<T[Field], undefined> | null };

const shownFields = Object.fromEntries(
  RESOURCE_SPEC_FIELDS.map((field) => [field, z.nonoptional(resourceSpecSchema.shape[field])]),
);

/** resource_spec as answered: every field, unset is null. */
export type ShownResourceSpec = Shown<ResourceSpec>;
export const shownResourceSpecSchema = z
  .object(shownFields)
  .describe('resource_spec as sent; unset is null.') as unknown as z.ZodType<ShownResourceSpec>;

export const shownSourceConfigSchema = z
  .object({
    integration_id: uuidSchema.nullable().describe('Credentials for the git host.'),
    repo_url: z.string().nullable().describe('Repository.'),
    deployment_type: deploymentTypeSchema.nullable(),
    build_on_push: z.boolean().nullable().describe('Each push to the tracked branch is built and deployed.'),
    custom_url: z.string().nullable().describe('URL under which the app is reached.'),
    resource_spec: shownResourceSpecSchema.nullable(),
    listener_id: uuidSchema.nullable().describe('Listener that was asked for.'),
    listener_config: z
      .object({ cluster_namespace: z.string().nullable().describe('Namespace that was asked for.') })
      .nullable()
      .describe('Where in the cluster of the listener.'),
    install_command: z.string().nullable().describe('Installs what the build needs.'),
    build_command: z.string().nullable().describe('Builds the app.'),
  })
  .describe('source_config as sent; unset is null.');

export const shownRevisionConfigSchema = z
  .object({
    repo_ref: z.string().nullable().describe('Branch, tag or commit.'),
    workflow_config_path: z.string().nullable().describe('Path of the config file in the repository.'),
    image_uri: z.string().nullable().describe('Image, as sent.'),
    repo_commit_sha: z.string().nullable().describe('Commit that was built. Set by the server.'),
  })
  .describe('source_revision_config of the latest revision.');

const shownSecretSchema = z
  .object({
    name: z.string().describe('Name of the environment variable.'),
    value: z.string().describe('Its value; masked for keys without the scope secrets:read.'),
  })
  .describe('A secret.');

const ID = 'Id, a UUID.';

export const deploymentSchema = z
  .object({
    id: uuidSchema.describe(ID),
    tenant_id: uuidSchema.describe('Owner.'),
    name: z.string().describe('Set at creation; cannot be changed.'),
    source: sourceSchema,
    source_config: shownSourceConfigSchema,
    source_revision_config: shownRevisionConfigSchema,
    secrets: z.array(shownSecretSchema).describe('Secrets of the latest revision.'),
    created_at: timeSchema.describe('When it was made.'),
    updated_at: timeSchema.describe('When what is wanted, or what is active, last changed.'),
    status: z
      .enum(DEPLOYMENT_STATUSES)
      .describe(
        'AWAITING_DATABASE: data services are not ready. READY: revisions can run. UNUSED: nothing is to run. AWAITING_DELETE: deletion was asked for. UNKNOWN: the cluster cannot be observed.',
      ),
    latest_revision_id: uuidSchema.nullable().describe('The newest revision.'),
    active_revision_id: uuidSchema.nullable().describe('The revision that is deployed and serves.'),
    image_version: z.string().nullable().describe("Tag of the latest revision's image."),
    generation: z.int().describe('Counts changes of what is wanted. The ETag is made of it.'),
    observed_generation: z
      .int()
      .describe(
        'The last generation of which everything was there; 0: none yet. Until a first revision is active it is the last one that the cluster was seen with, whether that has failed or has not begun. After that, what failed, or a volume that is not let grow, holds it where it was.',
      ),
    remote_reconciled: z
      .boolean()
      .describe(
        'observed_generation is generation: the cluster runs all that is wanted. While active_revision_id is null it says only that the cluster was seen with what is wanted: the first revision may have failed, or not have begun.',
      ),
    last_observed_at: timeSchema.nullable().describe('When the cluster was last heard of.'),
    conditions: z.array(conditionSchema).describe('The state in detail.'),
    url: z.string().nullable().describe('Where the app answers from outside, once its route exists.'),
    tracing_project_id: uuidSchema.describe('The tracing project of the same name.'),
    effective_resource_spec: effectiveResourceSpecSchema,
  })
  .describe('A deployment.');
export type ShownDeployment = z.infer<typeof deploymentSchema>;

const effectsField = {
  effects: z
    .array(z.string())
    .describe(
      'Which data services the change restarts, and why, as sentences; empty: none. The database restarts when its connections, cores or memory change, also where these follow from a scale.',
    ),
};

export const changedDeploymentSchema = deploymentSchema
  .extend(effectsField)
  .describe('The deployment as changed, and what the change restarts.');

export const deploymentListSchema = z
  .object({
    resources: z.array(deploymentSchema).describe('Newest first.'),
    offset: z.int().describe('Pass it in the next request to get the next page.'),
  })
  .describe('A page of deployments.');

const manifestSchema = z
  .looseObject({
    apiVersion: z.string().describe('API group and version.'),
    kind: z.string().describe('Kind.'),
  })
  .describe('A Kubernetes object.');

const dryRunFields = {
  manifests: z
    .array(manifestSchema)
    .nullable()
    .describe(
      'The custom resource and the Kubernetes objects that would result at once, before any build, without Secrets of the environment; null while the listener has not told how its cluster renders them.',
    ),
  new_revision: z.boolean().describe('A new revision would be made.'),
  builds: z.boolean().describe('Its image would be built from the repository first.'),
  pods_roll: z
    .boolean()
    .describe(
      'Pods would be replaced, at once or when the image is built, at most: what is wanted is compared, before and after. After a change that failed, one back to what runs replaces none.',
    ),
};

export const dryRunSchema = deploymentSchema
  .extend({ ...dryRunFields, ...effectsField })
  .describe('The deployment as it would be, and what would follow. Nothing was written.');
export type DryRunAnswer = z.infer<typeof dryRunSchema>;
