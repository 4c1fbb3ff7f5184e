import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { uuidSchema } from '../../domain/deployment-bodies.ts';
import {
  findTracingProject,
  listTracingProjects,
  type TracingProject,
} from '../../store/tracing-projects.ts';
import { tenantOf } from '../auth.ts';
import { timeSchema } from '../deployment-schema.ts';
import type { ApiDeps } from '../deps.ts';
import { errorAnswers } from '../error-schema.ts';
import { notFound } from '../errors.ts';
import { nextOffset, noQuery, pageOnly } from '../query.ts';

const projectSchema = z
  .object({
    id: z.string().describe('Id, a UUID.'),
    tenant_id: z.string().describe('Owner.'),
    name: z.string().describe('Name: that of the deployment it was made with.'),
    created_at: timeSchema.describe('When it was made.'),
  })
  .describe('A tracing project: what the pods of deployments of its name report to.');

const projectListSchema = z
  .object({
    resources: z.array(projectSchema).describe('Newest first.'),
    offset: z.int().describe('Pass it in the next request to get the next page.'),
  })
  .describe('A page of tracing projects.');

const show = ({ id, tenantId, name, createdAt }: TracingProject) => ({
  id,
  tenant_id: tenantId,
  name,
  created_at: createdAt.toISOString(),
});

const ACCESS = { scopes: ['deployments:read'] } as const;

/** `/v2/tracing-projects`. */
export function tracingProjectRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();

  routes.get(
    '/v2/tracing-projects',
    {
      config: { access: ACCESS },
      schema: {
        tags: ['tracing projects'],
        summary: 'List tracing projects',
        description: "The tenant's tracing projects, newest first.",
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
        description: 'One tracing project.',
        params: z.strictObject({ tracing_project_id: uuidSchema.describe('Id of the tracing project.') }),
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
