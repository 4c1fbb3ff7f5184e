import type { FastifySchema, RouteOptions } from 'fastify';
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { conditionSchema } from '../domain/conditions.ts';
import { createBodySchema, patchBodySchema, sourceConfigBodySchema } from '../domain/deployment-bodies.ts';
import { effectiveResourceSpecSchema } from '../domain/effective-spec-schema.ts';
import { containerSchema } from '../domain/kubernetes/container.ts';
import { volumeMountSchema, volumeSchema } from '../domain/kubernetes/volume.ts';
import { resourceSpecSchema } from '../domain/resource-spec.ts';
import { deploymentSchema, dryRunSchema, shownResourceSpecSchema } from './deployment-schema.ts';
import type { ApiDeps } from './deps.ts';

/** The OpenAPI document, made from the schemas that the routes check with. */

/** Schemas that the document names once and refers to. */
const COMPONENTS: Readonly<Record<string, z.ZodType>> = {
  Deployment: deploymentSchema,
  DeploymentDryRun: dryRunSchema,
  CreateDeployment: createBodySchema,
  PatchDeployment: patchBodySchema,
  SourceConfig: sourceConfigBodySchema,
  ResourceSpec: resourceSpecSchema,
  ShownResourceSpec: shownResourceSpecSchema,
  EffectiveResourceSpec: effectiveResourceSpecSchema,
  Container: containerSchema,
  Volume: volumeSchema,
  VolumeMount: volumeMountSchema,
  Condition: conditionSchema,
};

function nameComponents(): void {
  for (const [id, schema] of Object.entries(COMPONENTS)) {
    const known = z.globalRegistry.get(schema);
    if (known?.id === undefined) z.globalRegistry.add(schema, { ...known, id });
  }
}

const toJsonSchema = createJsonSchemaTransform({});

const TENANT_HEADER = {
  type: 'object',
  properties: {
    'X-Tenant-Id': {
      type: 'string',
      format: 'uuid',
      description: "The tenant. Default: the key's own; only an admin key may name another.",
    },
  },
};

interface JsonSchema {
  properties?: Record<string, unknown>;
}

/** What a route's `access` means to a client. */
function withAccess(schema: FastifySchema, route: RouteOptions): FastifySchema {
  const access = route.config?.access;
  if (access === 'public' || access === undefined) return { ...schema, security: [] };
  const headers = (schema.headers ?? {}) as JsonSchema;
  const description = [schema.description ?? schema.summary, `Scope: ${access.scopes.join(' or ')}.`].join(
    '\n\n',
  );
  return {
    ...schema,
    description,
    headers: { ...TENANT_HEADER, properties: { ...headers.properties, ...TENANT_HEADER.properties } },
  };
}

type Document = ReturnType<typeof jsonSchemaTransformObject>;

/** Components are made for requests and for answers; most are used in one of the two. Removes those nothing refers to. */
function withoutUnused(document: Document): Document {
  const components = 'components' in document ? document.components : undefined;
  const schemas = components?.schemas ?? {};
  const text = JSON.stringify(document);
  const used = Object.entries(schemas).filter(([name]) => text.includes(`"#/components/schemas/${name}"`));
  const pruned = {
    ...document,
    components: { ...components, schemas: Object.fromEntries(used) },
  } as Document;
  return used.length === Object.keys(schemas).length ? pruned : withoutUnused(pruned);
}

/** Options of @fastify/swagger. */
export function openApiOptions({ version, publicUrl }: ApiDeps) {
  nameComponents();
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Berth',
        description:
          'Deployments of applications for tenants. Errors: 422 the shape is wrong, 400 a rule refuses it, both with every field; else a sentence. Every answer carries X-Request-Id.',
        version,
      },
      ...(publicUrl === null ? {} : { servers: [{ url: publicUrl }] }),
      components: {
        securitySchemes: { apiKey: { type: 'apiKey' as const, name: 'X-Api-Key', in: 'header' as const } },
      },
      security: [{ apiKey: [] }],
    },
    transform: (document: Parameters<typeof toJsonSchema>[0]) => {
      const { schema, url } = toJsonSchema(document);
      return { schema: withAccess(schema as FastifySchema, document.route), url };
    },
    transformObject: (document: Parameters<typeof jsonSchemaTransformObject>[0]) =>
      withoutUnused(jsonSchemaTransformObject(document)),
  };
}
