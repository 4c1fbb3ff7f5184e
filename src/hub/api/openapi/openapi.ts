import type { FastifySchema, RouteOptions } from 'fastify';
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { cookieSettings } from '../../../domain/access/session-cookie.ts';
import type { HostingMode } from '../../../domain/deployment/source.ts';
import type { ApiDeps } from '../core/deps.ts';
import { nameComponents, withInputNames, withoutUnused, withSortedSchemas } from './openapi-components.ts';
import { withExamples } from './openapi-examples.ts';
import { withLiberties } from './openapi-inputs.ts';
import { withAnswers } from './openapi-responses.ts';
import { type AnswerHeader, type JsonSchema, type OpenApiDocument, operationsOf } from './openapi-types.ts';
import { operationIdOf } from './operation-ids.ts';

/** The OpenAPI document, generated from the schemas that validate requests. */

const TENANT_HEADER = {
  type: 'object',
  properties: {
    // Without the format uuid: clients with a type for UUIDs cannot send a value of this type in a header.
    'X-Tenant-Id': {
      type: 'string',
      description:
        'Id of the tenant, a UUID. Default: the tenant of the key, or the only tenant of a person. Only an admin can name other tenants.',
      examples: ['0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77'],
    },
  },
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Headers of every successful response of the route, for the document. Location: only with 201. */
    answerHeaders?: readonly AnswerHeader[];
  }
}

/** The cookies of an installation whose address is not known. */
const DEFAULT_COOKIES = { session: '__Host-berth-session' };

/** Descriptions of the tags. Each route has one tag. */
const TAGS: Readonly<Record<string, string>> = {
  deployments: 'Create, change, list and delete deployments.',
  revisions: 'Versions of deployments.',
  tasks: 'Commands that run once in the image of a deployment.',
  events: 'The history, with the author of each change and the reason of each change of a status.',
  tags: 'Keys and values to filter deployments.',
  'tracing projects': 'Projects that are created with a deployment of the same name.',
  registry: 'Access to the registry of the platform.',
  integrations: 'Credentials for git hosts.',
  webhooks: 'Called by git hosts.',
  listeners: 'Connections between this API and clusters.',
  'listener protocol': 'Called by listeners.',
  tenants: 'Owners of all objects, their quotas and their usage.',
  'API keys': 'Keys that authenticate callers for a tenant.',
  'sign-in': 'Sign-in in browsers, sessions, and access tokens of people and pipelines.',
  health: 'Probes of the process.',
};

/**
 * A query whose parameters have their references in `allOf`. The plugin drops the description beside a reference;
 * `withPlainReferences` removes `allOf` again.
 */
function withWrappedReferences(query: JsonSchema): JsonSchema {
  const wrapped = Object.entries(query.properties ?? {}).map(([name, { $ref, ...rest }]) => [
    name,
    $ref === undefined ? rest : { ...rest, allOf: [{ $ref }] },
  ]);
  return { ...query, properties: Object.fromEntries(wrapped) };
}

function withPlainReferences(document: OpenApiDocument): OpenApiDocument {
  for (const { operation } of operationsOf(document)) {
    for (const parameter of operation.parameters ?? []) {
      const [only, ...others] = parameter.schema?.allOf ?? [];
      if (only !== undefined && others.length === 0) parameter.schema = only;
    }
  }
  return document;
}

/** Describes the `access` of a route to clients. */
function withAccess(declared: FastifySchema, route: RouteOptions): FastifySchema {
  const { access, answerHeaders = [] } = route.config ?? {};
  const schema = {
    ...declared,
    ...(declared.querystring === undefined
      ? {}
      : { querystring: withWrappedReferences(declared.querystring as JsonSchema) }),
    operationId: operationIdOf(String(route.method), route.url),
    'x-answer-headers': answerHeaders,
  } as FastifySchema;
  if (access === 'public' || access === undefined) return { ...schema, security: declared.security ?? [] };
  const headers = (schema.headers ?? {}) as JsonSchema;
  const description = [schema.description ?? schema.summary, `Scope: ${access.scopes.join(' or ')}.`].join(
    '\n\n',
  );
  return {
    ...schema,
    description,
    headers: {
      ...TENANT_HEADER,
      ...(headers.required === undefined ? {} : { required: headers.required }),
      properties: { ...headers.properties, ...TENANT_HEADER.properties },
    },
  };
}

/** The usual spelling of headers in clients. HTTP ignores case. */
const HEADER_NAMES: Readonly<Record<string, string>> = {
  'content-digest': 'Content-Digest',
  'idempotency-key': 'Idempotency-Key',
  'if-match': 'If-Match',
  'if-none-match': 'If-None-Match',
  'x-github-event': 'X-GitHub-Event',
  'x-github-delivery': 'X-GitHub-Delivery',
  'x-hub-signature-256': 'X-Hub-Signature-256',
  'x-gitlab-token': 'X-Gitlab-Token',
  'x-gitlab-event-uuid': 'X-Gitlab-Event-UUID',
};

function withHeaderNames(document: OpenApiDocument): OpenApiDocument {
  for (const { operation } of operationsOf(document)) {
    for (const parameter of operation.parameters ?? [])
      if (parameter.in === 'header') parameter.name = HEADER_NAMES[parameter.name] ?? parameter.name;
  }
  return document;
}

function withTags(document: OpenApiDocument): OpenApiDocument {
  const used = [...new Set(operationsOf(document).flatMap(({ operation }) => operation.tags ?? []))];
  return { ...document, tags: used.map((name) => ({ name, description: TAGS[name] ?? '' })) };
}

/** Keywords of our schemas that only the generator of the CRD schema reads. */
const HELPERS: ReadonlySet<string> = new Set(['freeForm']);

function withoutHelpers(document: OpenApiDocument): OpenApiDocument {
  return JSON.parse(
    JSON.stringify(document, (key, value) => (HELPERS.has(key) && value === true ? undefined : value)),
  );
}

type Document = ReturnType<typeof jsonSchemaTransformObject>;

/** Text that applies to all routes. */
function finished(document: Document, hosting: HostingMode): Document {
  const examples = (made: OpenApiDocument) => withExamples(made, hosting);
  const steps = [withoutUnused, withInputNames, withoutHelpers, withHeaderNames, withTags];
  const all = [...steps, withPlainReferences, withAnswers, withLiberties, examples, withSortedSchemas];
  return all.reduce((made, step) => step(made), document as OpenApiDocument) as Document;
}

/** Options of @fastify/swagger. */
export function openApiOptions({ version, publicUrl, hosting }: ApiDeps) {
  const cookie = cookieSettings(publicUrl) ?? DEFAULT_COOKIES;
  nameComponents();
  // It caches the schemas, so each app has its own.
  const toJsonSchema = createJsonSchemaTransform({});
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Berth',
        description:
          'Deployments of applications for tenants. Errors: 422 means that the shape of the request is wrong. 400 means that a rule rejects the request. The responses of 422 and 400 list every rejected field. Other errors have a message. Every response has X-Request-Id. Operations that support Idempotency-Key document it. Every other POST rejects the header with 422.',
        version,
        license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl ?? '/', description: 'Address of this API.' }],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey' as const,
            name: 'X-Api-Key',
            in: 'header' as const,
            description:
              'A key belongs to a tenant and has scopes. Each operation names the scope that it needs.',
          },
          accessToken: {
            type: 'http' as const,
            scheme: 'bearer',
            description:
              'An access token of a person (`berth login`) or of a pipeline (docs/sign-in.md). It belongs to one tenant, and has roles, which are sets of the scopes of keys.',
          },
          session: {
            type: 'apiKey' as const,
            name: cookie.session,
            in: 'cookie' as const,
            description:
              'The session of a browser that signed in (docs/sign-in.md). A request that is not GET or HEAD also needs the header Origin of a page of this API. The roles of a person are sets of the scopes of keys.',
          },
        },
      },
      security: [{ apiKey: [] }, { accessToken: [] }, { session: [] }] as Record<string, string[]>[],
    },
    transform: (document: Parameters<ReturnType<typeof createJsonSchemaTransform>>[0]) => {
      const { schema, url } = toJsonSchema(document);
      const declared = schema as FastifySchema;
      return { schema: declared.hide ? declared : withAccess(declared, document.route), url };
    },
    transformObject: (document: Parameters<typeof jsonSchemaTransformObject>[0]) =>
      finished(jsonSchemaTransformObject(document), hosting),
  };
}
