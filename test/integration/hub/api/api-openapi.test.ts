/** The OpenAPI document: valid, complete, described. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { POD_SETTINGS } from '../../../../src/domain/pod-settings/pod-settings.ts';
import { withoutUnused } from '../../../../src/hub/api/openapi/openapi-components.ts';
import {
  type JsonSchema,
  type OpenApiDocument,
  operationsOf,
} from '../../../../src/hub/api/openapi/openapi-types.ts';
import { fullResourceSpec } from '../../../arbitraries/full-resource-spec.ts';
import { type ApiFixture, create, createBody, startApi } from '../../harness/api.ts';
import { contractOf } from '../../harness/conformance.ts';

let api: ApiFixture;
let document: OpenApiDocument;
beforeAll(async () => {
  api = await startApi();
  document = (await api.app.inject({ url: '/openapi.json' })).json();
});
afterAll(() => api.stop());

const operations = () =>
  operationsOf(document).map(({ method, path, operation }) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation,
  }));

/** Every object below `value`, with the way to it. */
function walk(value: unknown, visit: (schema: JsonSchema, path: string) => void, path = ''): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as JsonSchema, path);
  for (const [key, member] of Object.entries(value))
    walk(member, visit, `${path}/${key.replaceAll('/', '~1')}`);
}

function exampleChecker() {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
  return ajv.addSchema({ $id: 'openapi', ...document });
}

test('the document is OpenAPI 3.1 and has every route', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(document.info).toMatchObject({ title: 'Berth', version: '0.0.0-test' });
  const routes = api.routes
    .filter(
      ({ method, url }) =>
        method !== 'HEAD' && !/^\/(docs|auth\/device|openapi|v2\/auth\/(sign-in|callback)$|$)/.test(url),
    )
    .map(({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}')}`);
  expect(
    operations()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(routes.sort());
});

test('every reference resolves, and no placeholder is left', () => {
  const missing: string[] = [];
  walk(document, ({ $ref }, path) => {
    if ($ref === undefined) return;
    const steps = $ref.replace('#/', '').split('/');
    const target = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)?.[step], document);
    if (target === undefined) missing.push(`${path}: ${$ref}`);
  });
  expect(missing).toEqual([]);
  expect(JSON.stringify(document)).not.toContain('PLACEHOLDER');
});

test('every path parameter is declared, and no parameter is declared twice', () => {
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

test('the schemas are valid JSON Schema 2020-12 and accept real requests and responses', async () => {
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
  expect(problems('UpdateDeploymentInput', { source_config, secrets: null })).toEqual([]);
  expect(problems('Deployment', await create(client, { source_config }))).toEqual([]);
  const dry = await client.call('POST', '/v2/deployments?dry_run=true', body);
  expect(problems('DeploymentDryRun', dry.body)).toEqual([]);
});

test('every operation has a summary, a description, one tag and a success response', () => {
  for (const { name, operation } of operations()) {
    expect(operation.summary, name).toMatch(/\w/);
    expect(operation.tags, name).toHaveLength(1);
    const statuses = Object.keys(operation.responses);
    expect(
      statuses.some((status) => status.startsWith('2')),
      name,
    ).toBe(true);
    if (!/healthz|readyz|registry\/token/.test(name)) {
      expect(operation.description, name).toMatch(/Scope: /);
    }
  }
});

test('every tag is described', () => {
  for (const { name, description } of document.tags ?? []) expect(description, name).toMatch(/\w/);
});

test('every response of every operation is described, with its headers', () => {
  for (const { name, operation } of operations()) {
    const statuses = Object.keys(operation.responses);
    expect(statuses, name).toEqual(expect.arrayContaining(['400', '408', '414', '417', '431', '500']));
    for (const [status, response] of Object.entries(operation.responses)) {
      const target = response.$ref?.split('/').at(-1);
      const answer = target === undefined ? response : document.components.responses?.[target];
      expect(answer?.description, `${name} ${status}`).toMatch(/\w/);
      expect(answer?.headers, `${name} ${status}`).toHaveProperty('X-Request-Id');
    }
  }
});

test('every request body and every response has an example that fits its schema', () => {
  const ajv = exampleChecker();
  const problems: string[] = [];
  let examples = 0;
  walk(document, (media, path) => {
    if (!path.endsWith('/application~1json')) return;
    const validate = ajv.compile({ $ref: `openapi#${encodeURI(path)}/schema` });
    if (!('example' in media)) problems.push(`${path}: no example`);
    else if (!validate(media['example'])) problems.push(`${path}: ${ajv.errorsText(validate.errors)}`);
    examples++;
  });
  expect(problems).toEqual([]);
  expect(examples).toBeGreaterThan(operations().length);
});

describe('the contract check of responses', () => {
  const answer = (more: object) => ({
    method: 'GET',
    path: '/healthz',
    status: 200,
    headers: { 'x-request-id': 'a', 'content-type': 'application/json' },
    body: '{"status":"ok"}',
    ...more,
  });
  test.each([
    ['an answer as documented', {}, []],
    ['a field that is not documented', { body: '{"status":"ok","more":1}' }, [/additional properties/]],
    ['a wrong value', { body: '{"status":"no"}' }, [/\/status: must be equal.*is "no"/]],
    ['a status that is not documented', { status: 202 }, [/not documented/]],
    [
      'another content type',
      { headers: { 'x-request-id': 'a', 'content-type': 'text/html' } },
      [/text\/html/],
    ],
    ['a header that is missing', { headers: { 'content-type': 'application/json' } }, [/X-Request-Id/]],
    ['an unknown path with 200', { path: '/v2/nothing' }, [/not documented/]],
    ['an unknown path with 404', { path: '/v2/nothing', status: 404, body: '{"detail":"x"}' }, []],
    [
      'a refusal in another form',
      { path: '/v2/nothing', status: 404, body: '{"error":"x"}' },
      [/detail/, /error/],
    ],
  ])('reports the expected problems of %s', (_what, more, expected) => {
    const problems = contractOf(document).problems(answer(more));
    expect(problems).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(problems[index]).toMatch(pattern);
  });
});

test('every parameter and path parameter is described', () => {
  for (const { name, operation } of operations()) {
    // The protocol's messages are described in contract/*-protocol.ts.
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
    const isDescribed = (schema: JsonSchema): boolean =>
      schema.description !== undefined || schema.$ref !== undefined || (schema.anyOf ?? []).some(isDescribed);
    // The messages of the listener protocol are described in contract/protocol.
    const paths = Object.entries(document.paths).filter(([, methods]) =>
      Object.values(methods).every(({ tags }) => tags?.[0] !== 'listener protocol'),
    );
    const { schemas } = withoutUnused({ ...document, paths: Object.fromEntries(paths) }).components;
    for (const [name, component] of Object.entries(schemas)) {
      if (name === 'EffectiveResourceSpec') continue;
      walk(component, ({ properties }, path) => {
        if (path.endsWith('/properties')) return;
        for (const [field, schema] of Object.entries(properties ?? {})) {
          if (!isDescribed(schema)) undescribed.push(`${name}${path}/${field}`);
        }
      });
    }
    expect(undescribed).toEqual([]);
  });

  test('POST requires and accepts exactly the fields of the contract', () => {
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
    const extensions: string[] = ['domains', 'schedules', ...POD_SETTINGS];
    const fields = Object.keys(config?.properties ?? {});
    expect(fields.filter((field) => extensions.includes(field))).toEqual(extensions);
    expect(fields.filter((field) => !extensions.includes(field))).toEqual([
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

  test('the list has exactly the filters of the contract', () => {
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

test('/docs returns an HTML page, and /docs/json returns the document', async () => {
  const page = await api.app.inject({ url: '/docs' });
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toContain('text/html');
  const json = await api.app.inject({ url: '/docs/json' });
  expect(json.json()).toMatchObject({ openapi: '3.1.0' });
});

test('/ redirects to /docs', async () => {
  const { statusCode, headers } = await api.app.inject({ url: '/' });
  expect({ statusCode, location: headers.location }).toEqual({ statusCode: 302, location: '/docs' });
});

test('/openapi-3.0.json returns the same operations as OpenAPI 3.0.3', async () => {
  const answer = await api.app.inject({ url: '/openapi-3.0.json' });
  const converted: OpenApiDocument = answer.json();
  expect(converted.openapi).toBe('3.0.3');
  const ids = (of: OpenApiDocument) => operationsOf(of).map(({ operation }) => operation.operationId);
  expect(ids(converted)).toEqual(ids(document));
});
