import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { revisionBuildSchema } from '../../../domain/builds/build.ts';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { REVISION_STATUSES } from '../../../domain/revision/states.ts';
import { uploadSchema } from '../../../domain/uploads/upload.ts';
import { findDeployment } from '../../store/deployments/deployments.ts';
import { findRevision, listRevisions, type RevisionRecord } from '../../store/deployments/revisions.ts';
import type { SecretBox } from '../../store/secrets/secret-box.ts';
import { tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { notFound } from '../core/errors.ts';
import {
  booleanQuery,
  csvQuery,
  deploymentParams,
  nextOffset,
  noQuery,
  pageQuery,
  pageSchema,
} from '../core/query.ts';
import { shownRevisionConfigSchema, timeSchema } from '../deployments/deployment-schema.ts';
import { readableSecrets } from '../deployments/deployment-secrets.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import {
  effectiveCommandsSchema,
  presentCommands,
  presentRevisionConfig,
  presentSecretReferences,
  shownSecretReferences,
} from './run-settings-response.ts';

const shownBuildSchema = revisionBuildSchema
  .extend({
    started_at: timeSchema.optional().describe('Start time of the Job.'),
    finished_at: timeSchema.optional().describe('Time of the final status.'),
  })
  .meta({ id: 'Build', description: 'A build of an image.' });

export const revisionStatusSchema = z
  .enum(REVISION_STATUSES)
  .meta({ id: 'RevisionStatus', description: 'Status of the revision.' });

const shownUploadSchema = z.object(uploadSchema.shape).meta({
  id: 'RevisionUpload',
  description: 'The uploaded folder that the revision is built from, and how.',
});

export const revisionSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    deployment_id: uuidSchema.describe('The deployment.'),
    number: z.int().describe('Sequence number within the deployment: 1, 2, 3 …'),
    status: revisionStatusSchema,
    reason: z.string().nullable().describe('Reason, one of a fixed list.'),
    message: z.string().nullable().describe('Message with the details.'),
    source_revision_config: shownRevisionConfigSchema.describe(
      'Content of the revision. The content never changes, except that the server sets image_uri and repo_commit_sha after a build.',
    ),
    ...shownSecretReferences,
    secret_names: z
      .array(z.string())
      .optional()
      .describe(
        'Names of the secrets of the revision. Only in the response to a request for one revision. Absent if they are no longer stored or cannot be decrypted.',
      ),
    effective_commands: effectiveCommandsSchema.optional(),
    upload: shownUploadSchema.optional(),
    resolved_image: z.string().nullable().describe('Image with its digest, when the digest is known.'),
    build: shownBuildSchema.nullable().describe('State of the build. null: the revision was not built.'),
    created_at: timeSchema.describe('Time of creation.'),
    updated_at: timeSchema.describe('Time of the last status change.'),
    deployed_at: timeSchema.nullable().describe('Time when every component ran the revision.'),
  })
  .meta({
    id: 'Revision',
    description: 'A revision: one version of source_revision_config, secrets and secret_references.',
  });
type ShownRevision = z.infer<typeof revisionSchema>;

const revisionListSchema = pageSchema('RevisionPage', revisionSchema, 'A page of revisions.');

/** Times are strings from the cluster. Invalid times are omitted. */
function shownTime<Name extends string>(name: Name, time: string | undefined) {
  const date = new Date(time ?? Number.NaN);
  return (Number.isNaN(date.getTime()) ? {} : { [name]: date.toISOString() }) as { [N in Name]?: string };
}

function shownBuild(build: RevisionRecord['build']): ShownRevision['build'] {
  if (build === null) return null;
  const { phase, step, started_at, finished_at } = build;
  return {
    phase,
    ...(step === undefined ? {} : { step }),
    ...shownTime('started_at', started_at),
    ...shownTime('finished_at', finished_at),
  };
}

/** The names of the secrets, if they can be read. */
function secretNames(box: SecretBox, { secretsId, secrets }: RevisionRecord): { secret_names?: string[] } {
  if (secretsId !== null && secrets === null) return {};
  const readable = readableSecrets(box, { secrets });
  return readable === null ? {} : { secret_names: readable.map(({ name }) => name) };
}

/** A revision in a response. */
export function presentRevision(record: RevisionRecord): ShownRevision {
  return {
    id: record.id,
    deployment_id: record.deploymentId,
    number: record.number,
    status: record.status,
    reason: record.reason,
    message: record.message,
    source_revision_config: presentRevisionConfig(record.sourceRevisionConfig),
    ...presentSecretReferences(record.sourceRevisionConfig),
    ...presentCommands(record.sourceRevisionConfig),
    ...(record.sourceRevisionConfig.upload === undefined
      ? {}
      : { upload: record.sourceRevisionConfig.upload }),
    resolved_image: record.resolvedImage,
    build: shownBuild(record.build),
    created_at: record.createdAt.toISOString(),
    updated_at: record.updatedAt.toISOString(),
    deployed_at: record.deployedAt?.toISOString() ?? null,
  };
}

export const revisionParams = deploymentParams.extend({
  revision_id: uuidSchema.describe('Id of the revision.'),
});

const ACCESS = { scopes: ['deployments:read'] } as const;

const listQuery = z.strictObject({
  ...pageQuery,
  status: csvQuery(z.enum(REVISION_STATUSES))
    .optional()
    .describe('Statuses, separated by commas. A revision with any of them matches.'),
  remote_reconciled: booleanQuery.optional().describe('Whether the revision has reached a final status.'),
});

/** `/v2/deployments/{id}/revisions`. */
export function revisionRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v2/deployments/:deployment_id/revisions',
    {
      config: { access: ACCESS },
      schema: {
        tags: ['revisions'],
        summary: 'List revisions',
        description: 'Returns the revisions of a deployment, newest first.',
        params: deploymentParams,
        querystring: listQuery,
        response: { 200: revisionListSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { deployment_id: deploymentId } = request.params;
      const { limit, offset, status, remote_reconciled: remoteReconciled } = request.query;
      const records = await deps.database.forTenant(tenantId).read(async (reader) => {
        if ((await findDeployment(reader, tenantId, deploymentId)) === null) throw notFound('deployment');
        const filter = { statuses: status, remoteReconciled };
        return listRevisions(reader, tenantId, deploymentId, filter, { limit, offset });
      });
      return { resources: records.map(presentRevision), offset: nextOffset({ offset }, records) };
    },
  );

  routes.get(
    '/v2/deployments/:deployment_id/revisions/:revision_id',
    {
      config: { access: ACCESS },
      schema: {
        tags: ['revisions'],
        summary: 'Get a revision',
        description: 'Returns one revision of a deployment.',
        params: revisionParams,
        querystring: noQuery,
        response: { 200: revisionSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const { deployment_id: deploymentId, revision_id: revisionId } = request.params;
      const record = await deps.database
        .forTenant(tenantId)
        .read((reader) => findRevision(reader, tenantId, deploymentId, revisionId));
      if (record === null) throw notFound('revision');
      return { ...presentRevision(record), ...secretNames(deps.secretBox, record) };
    },
  );
}
