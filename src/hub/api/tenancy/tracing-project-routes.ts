import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../../domain/deployment/deployment-bodies.ts';
import { ReferenceViolation } from '../../store/core/errors.ts';
import {
  deleteTracingProject,
  findTracingProject,
  listTracingProjects,
  type TracingProject,
} from '../../store/tenancy/tracing-projects.ts';
import { actorOf, tenantOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError, notFound } from '../core/errors.ts';
import { nextOffset, noQuery, pageOnly, pageSchema } from '../core/query.ts';
import { timeSchema } from '../deployments/deployment-schema.ts';
import { errorAnswers } from '../openapi/error-schema.ts';

const projectSchema = z
  .object({
    id: uuidSchema.describe('Id, a UUID.'),
    tenant_id: uuidSchema.describe('Owner.'),
    name: z.string().describe('The name of the first deployment that used the project.'),
    created_at: timeSchema.describe('Time of creation.'),
    backend_synced_at: timeSchema
      .nullable()
      .describe(
        'Time of the last acknowledgement by the tracing backend. null: never, or no backend is configured.',
      ),
  })
  .meta({
    id: 'TracingProject',
    description: 'A tracing project. The pods of deployments with the name of the project report to it.',
  });

const projectListSchema = pageSchema('TracingProjectPage', projectSchema, 'A page of tracing projects.');

const show = ({ id, tenantId, name, createdAt, backendSyncedAt }: TracingProject) => ({
  id,
  tenant_id: tenantId,
  name,
  created_at: createdAt.toISOString(),
  backend_synced_at: backendSyncedAt?.toISOString() ?? null,
});

const ACCESS = { scopes: ['deployments:read'] } as const;

const params = z.strictObject({ tracing_project_id: uuidSchema.describe('Id of the tracing project.') });

function deletion(app: FastifyInstance, deps: ApiDeps): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/v2/tracing-projects/:tracing_project_id',
    {
      config: { access: { scopes: ['deployments:write'] } },
      schema: {
        tags: ['tracing projects'],
        summary: 'Delete a tracing project',
        description:
          'Deletes a tracing project that a deleted deployment left. The request is rejected while a deployment uses the project, even if that deployment is being deleted. To delete a deployment together with its project, DELETE the deployment with delete_tracing_project.',
        params,
        querystring: noQuery,
        response: { 204: z.null().describe('Deleted.'), ...errorAnswers(404, 409) },
      },
    },
    async (request, reply) => {
      const tenantId = tenantOf(request);
      const { tracing_project_id: id } = request.params;
      const deleted = await deps.database
        .forTenant(tenantId)
        .transaction((transaction) => deleteTracingProject(transaction, tenantId, id, actorOf(request)))
        .catch((error: unknown) => {
          if (!(error instanceof ReferenceViolation)) throw error;
          throw new ApiError(409, 'A deployment uses the tracing project.');
        });
      if (!deleted) throw notFound('tracing project');
      return reply.code(204).send(null);
    },
  );
}

/** `/v2/tracing-projects`. */
export function tracingProjectRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  deletion(app, deps);

  routes.get(
    '/v2/tracing-projects',
    {
      config: { access: ACCESS },
      schema: {
        tags: ['tracing projects'],
        summary: 'List tracing projects',
        description: "Returns the tenant's tracing projects, newest first.",
        querystring: pageOnly,
        response: { 200: projectListSchema, ...errorAnswers() },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const page = request.query;
      const projects = await deps.database
        .forTenant(tenantId)
        .read((reader) => listTracingProjects(reader, tenantId, page));
      return { resources: projects.map(show), offset: nextOffset(page, projects) };
    },
  );

  routes.get(
    '/v2/tracing-projects/:tracing_project_id',
    {
      config: { access: ACCESS },
      schema: {
        tags: ['tracing projects'],
        summary: 'Get a tracing project',
        description: 'Returns one tracing project.',
        params,
        querystring: noQuery,
        response: { 200: projectSchema, ...errorAnswers(404) },
      },
    },
    async (request) => {
      const tenantId = tenantOf(request);
      const project = await deps.database
        .forTenant(tenantId)
        .read((reader) => findTracingProject(reader, tenantId, request.params.tracing_project_id));
      if (project === null) throw notFound('tracing project');
      return show(project);
    },
  );
}
