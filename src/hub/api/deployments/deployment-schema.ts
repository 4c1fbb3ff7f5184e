import { z } from 'zod';
import { shownDomainsSchema } from '../../../domain/app-hosts/domains.ts';
import { conditionSchema } from '../../../domain/conditions/conditions.ts';
import { loggedComponentSchema } from '../../../domain/core/log-query.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { deploymentTypeSchema, sourceSchema } from '../../../domain/deployment/source.ts';
import { shownPodSettingsShape } from '../../../domain/pod-settings/pod-settings.ts';
import { effectiveResourceSpecSchema } from '../../../domain/resource-spec/effective-spec-schema.ts';
import {
  RESOURCE_SPEC_FIELDS,
  type ResourceSpec,
  resourceSpecSchema,
} from '../../../domain/resource-spec/resource-spec.ts';
import { DEPLOYMENT_STATUSES } from '../../../domain/revision/states.ts';
import { shownSchedulesSchema } from '../../../domain/schedules/schedules.ts';
import { pageSchema } from '../core/query.ts';
import { domainsStatusSchema } from '../domains/domains-status.ts';
import { actorSchema } from '../events/actor-schema.ts';
import { shownRunSettings, shownSecretReferences } from '../revisions/run-settings-response.ts';

/** A deployment in a response. All fields of the contract are present. Unset fields are null. */

export const timeSchema = z.iso.datetime();

type Shown<T> = { [Field in keyof T]-?: Exclude<T[Field], undefined> | null };

const shownFields = Object.fromEntries(
  RESOURCE_SPEC_FIELDS.map((field) => [field, z.nonoptional(resourceSpecSchema.shape[field])]),
);

/** resource_spec in a response. All fields are present. Unset fields are null. */
export type ShownResourceSpec = Shown<ResourceSpec>;
export const shownResourceSpecSchema = z.object(shownFields).meta({
  id: 'ResourceSpec',
  description: 'resource_spec as it was sent. Fields that were not set are null.',
}) as unknown as z.ZodType<ShownResourceSpec>;

export const shownSourceConfigSchema = z
  .object({
    integration_id: uuidSchema.nullable().describe('Credentials for the git host.'),
    repo_url: z.string().nullable().describe('Repository.'),
    deployment_type: deploymentTypeSchema.nullable(),
    build_on_push: z.boolean().nullable().describe('Build and deploy each push to the tracked branch.'),
    custom_url: z.string().nullable().describe('URL of the app.'),
    resource_spec: shownResourceSpecSchema.nullable(),
    listener_id: uuidSchema.nullable().describe('Requested listener.'),
    listener_config: z
      .object({ cluster_namespace: z.string().nullable().describe('Requested namespace.') })
      .nullable()
      .describe("Location of the deployment in the listener's cluster."),
    install_command: z.string().nullable().describe('Command that installs the dependencies of the build.'),
    build_command: z.string().nullable().describe('Command that builds the app.'),
    domains: shownDomainsSchema,
    schedules: shownSchedulesSchema,
    ...shownPodSettingsShape,
  })
  .meta({
    id: 'SourceConfig',
    description:
      'source_config as it was sent. Fields that were not set are null or, if they are not required, absent.',
  });

export const shownRevisionConfigSchema = z
  .object({
    repo_ref: z.string().nullable().describe('Branch, tag or commit.'),
    workflow_config_path: z.string().nullable().describe('Path of the config file in the repository.'),
    image_uri: z.string().nullable().describe('Image as it was sent.'),
    repo_commit_sha: z.string().nullable().describe('Commit that was built. Set by the server.'),
    ...shownRunSettings,
  })
  .meta({
    id: 'SourceRevisionConfig',
    description:
      'source_revision_config of the latest revision. port, commands and env are absent if they are not set.',
  });

const shownSecretSchema = z
  .object({
    name: z.string().describe('Name of the environment variable.'),
    value: z
      .string()
      .describe('Value. Value of the variable, masked for keys without the scope secrets:read.'),
  })
  .meta({ id: 'Secret', description: 'A secret.' });

export const deploymentStatusSchema = z.enum(DEPLOYMENT_STATUSES).meta({
  id: 'DeploymentStatus',
  description:
    'AWAITING_DATABASE: the database or the cache is not ready. READY: revisions can run. UNUSED: no pods should run. AWAITING_DELETE: deletion was requested. UNKNOWN: the cluster cannot be observed.',
});

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
    ...shownSecretReferences,
    created_at: timeSchema.describe('Time of creation.'),
    updated_at: timeSchema.describe(
      'Time of the last change of the desired state or of the active revision.',
    ),
    updated_by: actorSchema
      .nullable()
      .describe('The author of the last change of the desired state. null: not known.'),
    status: deploymentStatusSchema,
    latest_revision_id: uuidSchema.nullable().describe('The latest revision.'),
    active_revision_id: uuidSchema.nullable().describe('The deployed revision that serves requests.'),
    image_version: z.string().nullable().describe("Tag of the latest revision's image."),
    generation: z
      .int()
      .describe('Number of changes of the desired state. The ETag is derived from the generation.'),
    observed_generation: z
      .int()
      .describe(
        'The last generation that was observed completely in the cluster. 0: no generation was observed yet. Until a first revision is active, the value is the last generation that the cluster received, even if that generation failed or has not started. After that, a failed change or a rejected volume expansion does not increase the value.',
      ),
    remote_reconciled: z
      .boolean()
      .describe(
        'True if observed_generation equals generation: the cluster runs the desired state. While active_revision_id is null, true means only that the cluster has received the desired state. The first revision may then have failed, or may not have started.',
      ),
    last_observed_at: timeSchema.nullable().describe('Time of the last report from the cluster.'),
    conditions: z.array(conditionSchema).describe('Conditions that describe the state in detail.'),
    url: z.string().nullable().describe('External URL of the app, once its route exists.'),
    domains_status: domainsStatusSchema,
    tracing_project_id: uuidSchema.describe('The tracing project of the same name.'),
    effective_resource_spec: effectiveResourceSpecSchema,
  })
  .meta({ id: 'Deployment', description: 'A deployment.' });
export type ShownDeployment = z.infer<typeof deploymentSchema>;

const effectsField = {
  effects: z
    .array(z.string())
    .describe(
      'Sentences that say which data services the change restarts, and why. Empty: the change restarts no data service. The database restarts when its connections, cores or memory change, including changes that follow from another scale.',
    ),
};

/** Response to a change of single secrets. It has no values, so that a key without secrets:read can change secrets. */
export const changedSecretsSchema = z
  .object({
    id: uuidSchema.describe('Id of the deployment, a UUID.'),
    names: z.array(z.string()).describe('Names of all secrets of the deployment.'),
    generation: deploymentSchema.shape.generation,
    latest_revision_id: deploymentSchema.shape.latest_revision_id,
    effects: effectsField.effects.optional(),
  })
  .meta({
    id: 'DeploymentSecrets',
    description:
      'The secrets after the change. effects is present only if the change restarts data services.',
  });

export const deploymentListSchema = pageSchema('DeploymentPage', deploymentSchema, 'A page of deployments.');

const manifestSchema = z
  .looseObject({
    apiVersion: z.string().describe('API group and version.'),
    kind: z.string().describe('Kind.'),
  })
  .meta({ id: 'Manifest', description: 'A Kubernetes object.' });

/** The parts of a deployment whose pods a change can replace. */
export type RolledPart = z.infer<typeof loggedComponentSchema>;

const dryRunFields = {
  manifests: z
    .array(manifestSchema)
    .nullable()
    .describe(
      'The custom resource and the Kubernetes objects that the request would create, before any build and without environment Secrets. null until the listener has reported its rendering settings.',
    ),
  new_revision: z.boolean().describe('True if the request would create a new revision.'),
  builds: z.boolean().describe('True if the image would be built first.'),
  pods_roll: z
    .boolean()
    .describe(
      'True if pods would be replaced, now or after the build. The value is an upper bound, because it only compares the desired states before and after the request. For example, it is true for a change back to the running state after a failed change, although no pods are replaced.',
    ),
  rolls: z
    .array(loggedComponentSchema)
    .describe(
      'The components and data services whose pods would be replaced: the parts behind pods_roll. Empty if pods_roll is false.',
    ),
  runs_release: z
    .boolean()
    .optional()
    .describe(
      'True if release_command would run before the rollout. Absent if the request would create no revision with a release command.',
    ),
};

const fieldChangeSchema = z
  .object({
    field: z
      .string()
      .describe(
        'Path of the field, such as source_config.resource_spec.cpu. Lists and maps are one field, except for secrets.NAME, secret_references.NAME, source_revision_config.env.NAME and source_revision_config.commands.COMPONENT.',
      ),
    before: z
      .unknown()
      .describe('Value before the request. null: not set. The value of a secret is the mask (**********).'),
    after: z
      .unknown()
      .describe('Value after the request. null: not set. The value of a secret is the mask (**********).'),
  })
  .meta({ id: 'FieldChange', description: 'A changed field.' });

const dryRunOnly = {
  ...dryRunFields,
  changes: z
    .array(fieldChangeSchema)
    .describe(
      'The fields that the request would change. Empty: the request would change nothing. A new deployment has the changes name and source.',
    ),
};

export const dryRunSchema = deploymentSchema.extend({ ...dryRunOnly, ...effectsField }).meta({
  id: 'DeploymentDryRun',
  description: 'The resulting deployment and the effects of the request. A dry run stores nothing.',
});
export type DryRunAnswer = z.infer<typeof dryRunSchema>;

export const revisionDryRunSchema = z.object(dryRunOnly).meta({
  id: 'RevisionDryRun',
  description: 'The effects of a new revision. A dry run stores nothing.',
});
export type RevisionDryRun = z.infer<typeof revisionDryRunSchema>;

/** The part of a dry run that a deployment does not have. */
export type Outlook = Omit<DryRunAnswer, keyof ShownDeployment>;

/** The response to PATCH and PUT. One schema for both cases, because clients in typed languages handle unions poorly. */
export const updatedDeploymentSchema = deploymentSchema
  .extend(z.object({ ...dryRunOnly, ...effectsField }).partial().shape)
  .meta({
    id: 'UpdatedDeployment',
    description:
      'The updated deployment. effects is present if the change restarts data services, and with dry_run. manifests, new_revision, builds, pods_roll, rolls, runs_release and changes are present only with dry_run.',
  });
