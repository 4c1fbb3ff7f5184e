import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  clientTypes,
  header,
  isGeneratorInstalled,
  typesDocument,
} from '../../../../scripts/client-types.ts';
import { openApiDocument } from '../../../../scripts/openapi-document.ts';
import type { OpenApiDocument } from '../../../../src/hub/api/openapi/openapi-types.ts';

const document = (await openApiDocument()) as OpenApiDocument;
const file = readFileSync(new URL('../../../../src/cli/client/api.gen.ts', import.meta.url), 'utf8');
const HEADER = /^(\/\/ .*\n)+/;

// It needs no generator: the header has a hash of its inputs and a hash of the text that it wrote.
test('src/cli/client/api.gen.ts was generated from the current document, and not changed afterwards (to update it, run npm run client-types)', () => {
  const types = file.replace(HEADER, '');
  expect(file).toBe(`${header(document, types)}${types}`);
});

test.skipIf(!isGeneratorInstalled())('src/cli/client/api.gen.ts is the output of openapi-typescript', () => {
  expect(file).toBe(clientTypes(document));
});

test('reports a file as stale when the document has another type, and not when it has another description', () => {
  const types = file.replace(HEADER, '');
  const kept = header(document, types);
  const changed = structuredClone(document);
  const name = changed.components.schemas['CreateDeploymentInput']?.properties?.['name'];
  Object.assign(name ?? {}, { description: 'Another text.', maxLength: 1 });
  expect(header(changed, types)).toBe(kept);
  Object.assign(name ?? {}, { type: 'integer' });
  expect(header(changed, types)).not.toBe(kept);
});

test('keeps parameters, bodies and successful responses of operations for users', () => {
  const string = { type: 'string', description: 'What it is.' };
  const schema = {
    type: 'object',
    properties: { description: string, list: { type: 'array', items: string, maxItems: 2 } },
    required: ['description'],
    additionalProperties: false,
    anyOf: [{ $ref: '#/components/schemas/A' }, { type: 'null', title: 'none' }],
  };
  const types = {
    type: 'object',
    properties: { description: { type: 'string' }, list: { type: 'array', items: { type: 'string' } } },
    required: ['description'],
    additionalProperties: false,
    anyOf: [{ $ref: '#/components/schemas/A' }, { type: 'null' }],
  };
  const content = { 'application/json': { schema, example: {} }, 'application/x-ndjson': { schema } };
  const operation = {
    operationId: 'createA',
    tags: ['a'],
    summary: 'Create an A',
    parameters: [{ name: 'id', in: 'path', required: true, schema: string, description: 'Its id.' }],
    requestBody: { required: true, content },
    responses: { 201: { description: 'Done.', content }, 204: { description: 'Done.' }, 400: {} },
  };
  const small: OpenApiDocument = {
    openapi: '3.1.0',
    info: { title: 'A', version: '1.2.3' },
    paths: { '/a/{id}': { post: operation }, '/healthz': { get: { ...operation, tags: ['health'] } } },
    components: { schemas: { A: schema }, securitySchemes: {} },
  };
  const json = { content: { 'application/json': { schema: types } } };
  expect(typesDocument(small)).toEqual({
    openapi: '3.1.0',
    info: { title: 'A', version: 'any' },
    paths: {
      '/a/{id}': {
        post: {
          operationId: 'createA',
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
          requestBody: { required: true, ...json },
          responses: { 201: { description: '201', ...json }, 204: { description: '204' } },
        },
      },
    },
    components: { schemas: { A: types } },
  });
});
