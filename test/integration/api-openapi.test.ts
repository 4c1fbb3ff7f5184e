/** The OpenAPI document: valid, complete, described. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fullResourceSpec } from '../arbitraries/full-resource-spec.ts';
import { type ApiFixture, create, createBody, startApi } from './harness/api.ts';

interface Schema {
  $ref?: string;
  description?: string;
  properties?: Record<string, Schema>;
  [keyword: string]: unknown;
}
interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
  security?: object[];
  parameters?: { name: string; in: string; description?: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: object };
}

let api: ApiFixture;
let document: Document;
beforeAll(async () => {
  api = await startApi();
  document = (await api.app.inject({ url: '/openapi.json' })).json();
});
afterAll(() => api.stop());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );

/** Every object below `value`, with the way to it. */
function walk(value: unknown, visit: (schema: Schema, path: string) => void, path = ''): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as Schema, path);
  for (const [key, member] of Object.entries(value)) walk(member, visit, `${path}/${key}`);
}

test('is OpenAPI 3.1 with every route', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(document.info).toMatchObject({ title: 'Berth', version: '0.0.0-test' });
  const routes = api.routes
    .filter(({ method, url }) => method !== 'HEAD' && url !== '/openapi.json' && !url.startsWith('/docs'))
    .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`);
  expect(
    operations()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(routes.sort());
});

test('every reference leads somewhere, and no placeholder is left', () => {
  const missing: string[] = [];
  walk(document, ({ $ref }, path) => {
    if ($ref === undefined) return;
    const target = $ref.replace('#/components/schemas/', '');
    if (document.components.schemas[target] === undefined) missing.push(`${path}: ${$ref}`);
  });
  expect(missing).toEqual([]);
  expect(JSON.stringify(document)).not.toContain('PLACEHOLDER');
});

test('every parameter of a path is declared, none twice', () => {
  for (const { name, operation } of operations()) {
    const parameters = operation.parameters ?? [];
    const inPath = parameters
      .filter((parameter) => parameter.in === 'path')
      .map((parameter) => parameter.name);
    expect(inPath.sort(), name).toEqual(
      [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter).sort(),
    );
    const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`);
    expect(new Set(keys).size, name).toBe(keys.length);
  }
});

test('its schemas are JSON Schema 2020-12, and take what the API takes and answers', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'api', components: document.components });
  const problems = (component: string, value: unknown) => {
    const validate = ajv.compile({ $ref: `api#/components/schemas/${component}` });
    return validate(value) ? [] : validate.errors;
  };
  for (const name of Object.keys(document.components.schemas))
    ajv.compile({ $ref: `api#/components/schemas/${name}` });
  const client = await api.tenant();
  const source_config = { deployment_type: 'prod', resource_spec: fullResourceSpec };
  const body = createBody({ source_config, secrets: [{ name: 'A', value: 'b' }] });
  expect(problems('CreateDeploymentInput', body)).toEqual([]);
  expect(problems('CreateDeploymentInput', { ...body, replicas: 1 })).not.toEqual([]);
  expect(problems('PatchDeploymentInput', { source_config, secrets: null })).toEqual([]);
  expect(problems('Deployment', await create(client, { source_config }))).toEqual([]);
  const dry = await client.call('POST', '/v2/deployments?dry_run=true', body);
  expect(problems('DeploymentDryRun', dry.body)).toEqual([]);
});

test('every operation has summary, description, tags, success and errors', () => {
  for (const { name, operation } of operations()) {
    expect(operation.summary, name).toMatch(/\w/);
    expect(operation.tags, name).toHaveLength(1);
    const statuses = Object.keys(operation.responses);
    expect(
      statuses.some((status) => status.startsWith('2')),
      name,
    ).toBe(true);
    if (!name.includes('healthz') && !name.includes('readyz')) {
      expect(operation.description, name).toMatch(/Scope: /);
    }
  }
});

test('every parameter and path parameter is described', () => {
  for (const { name, operation } of operations()) {
    // The protocol's messages are described in contract/listener-protocol.ts.
    if (operation.tags?.[0] === 'listener protocol') continue;
    for (const parameter of operation.parameters ?? []) {
      const text = parameter.description ?? parameter.schema.description;
      expect(text, `${name} ${parameter.name}`).toMatch(/\w/);
    }
  }
});

describe('the fields of the contract', () => {
  test('every field of request and response is described', () => {
    const undescribed: string[] = [];
    const isDescribed = (schema: Schema): boolean =>
      schema.description !== undefined ||
      schema.$ref !== undefined ||
      ((schema['anyOf'] as Schema[] | undefined) ?? []).some(isDescribed);
    for (const [name, component] of Object.entries(document.components.schemas)) {
      if (name.startsWith('EffectiveResourceSpec')) continue;
      walk(component, ({ properties }, path) => {
        if (path.endsWith('/properties')) return;
        for (const [field, schema] of Object.entries(properties ?? {})) {
          if (!isDescribed(schema)) undescribed.push(`${name}${path}/${field}`);
        }
      });
    }
    expect(undescribed).toEqual([]);
  });

  test('POST asks for exactly the fields of the contract', () => {
    const body = document.components.schemas['CreateDeploymentInput'];
    expect(body?.['required']).toEqual([
      'name',
      'source',
      'source_config',
      'source_revision_config',
      'secrets',
    ]);
    expect(body?.['additionalProperties']).toBe(false);
    const config = document.components.schemas['SourceConfigInput'];
    expect(Object.keys(config?.properties ?? {})).toEqual([
      'integration_id',
      'repo_url',
      'deployment_type',
      'build_on_push',
      'custom_url',
      'resource_spec',
      'listener_id',
      'listener_config',
      'install_command',
      'build_command',
    ]);
    expect(document.components.schemas['ResourceSpecInput']?.properties).toHaveProperty(
      'orchestrator_cpu_limit',
    );
  });

  test('the filters of the list', () => {
    const names = document.paths['/v2/deployments']?.['get']?.parameters?.map(({ name }) => name);
    expect(names).toEqual([
      'limit',
      'offset',
      'name',
      'name_contains',
      'status',
      'remote_reconciled',
      'tag_value_ids',
      'image_version',
      'deployment_type',
      'deployment_ids',
      'mask_secrets',
      'X-Tenant-Id',
    ]);
  });
});

test('/docs is a page', async () => {
  const page = await api.app.inject({ url: '/docs' });
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toContain('text/html');
  const json = await api.app.inject({ url: '/docs/json' });
  expect(json.json()).toMatchObject({ openapi: '3.1.0' });
});
