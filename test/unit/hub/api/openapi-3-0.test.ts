import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../../../scripts/openapi-document.ts';
import { schemaOf, toOpenApi30 } from '../../../../src/hub/api/openapi/openapi-3-0.ts';
import type { JsonSchema, OpenApiDocument } from '../../../../src/hub/api/openapi/openapi-types.ts';

describe('a schema in OpenAPI 3.0', () => {
  const string = { type: 'string', maxLength: 5 };
  test.each<[string, JsonSchema, JsonSchema]>([
    ['keeps what both versions have', { ...string, pattern: '^a' }, { ...string, pattern: '^a' }],
    ['has nullable for a list of types', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    [
      'has options for several types',
      { type: ['string', 'integer'], description: 'A.' },
      { anyOf: [{ type: 'string' }, { type: 'integer' }], description: 'A.' },
    ],
    [
      'has nullable for a union with null, and the description of the union',
      { anyOf: [{ ...string, description: 'Inner.' }, { type: 'null' }], description: 'Outer.' },
      { ...string, description: 'Outer.', nullable: true },
    ],
    [
      'admits null in an option if the union has several',
      { anyOf: [string, { type: 'number' }, { type: 'null' }] },
      { anyOf: [{ ...string, nullable: true }, { type: 'number' }] },
    ],
    [
      'lists null in an enum that admits it',
      { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }] },
      { type: 'string', enum: ['a', 'b', null], nullable: true },
    ],
    [
      'is an enum for null alone',
      { type: 'null', description: 'A.' },
      { type: 'string', enum: [null], nullable: true, description: 'A.' },
    ],
    ['has an enum for a constant', { type: 'string', const: 'a' }, { type: 'string', enum: ['a'] }],
    [
      'has flags for exclusive bounds',
      { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 9 },
      { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: true },
    ],
    ['has one example', { type: 'string', examples: ['a', 'b'] }, { type: 'string', example: 'a' }],
    ['leaves out names of properties', { type: 'object', propertyNames: string }, { type: 'object' }],
    [
      'wraps a reference with a description',
      { $ref: '#/components/schemas/A', description: 'It.' },
      { allOf: [{ $ref: '#/components/schemas/A' }], description: 'It.' },
    ],
    [
      'is converted at every depth',
      {
        type: 'object',
        properties: { const: { const: 1 }, list: { type: 'array', items: { const: 2 } } },
        additionalProperties: { oneOf: [{ const: 3 }, { not: { const: 4 } }] },
      },
      {
        type: 'object',
        properties: { const: { enum: [1] }, list: { type: 'array', items: { enum: [2] } } },
        additionalProperties: { oneOf: [{ enum: [3] }, { not: { enum: [4] } }] },
      },
    ],
  ])('%s', (_what, schema, expected) => {
    expect(schemaOf(schema)).toEqual(expected);
  });

  test('is not made from a keyword without a rule', () => {
    expect(() => schemaOf({ type: 'object', unevaluatedProperties: false })).toThrow(
      'failed to convert the document to OpenAPI 3.0: unknown keyword unevaluatedProperties',
    );
  });
});

const nullOr = (name: string) => ({
  anyOf: [{ $ref: `#/components/schemas/${name}` }, { type: 'null' }],
  description: 'It.',
});

function documentOf(schemas: Record<string, JsonSchema>): OpenApiDocument {
  const info = {
    title: 'A',
    version: '1.2.3',
    license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
  };
  return { openapi: '3.1.0', info, paths: {}, components: { schemas, securitySchemes: {} } };
}

describe('a document in OpenAPI 3.0', () => {
  test('admits null in a component itself when every reference to it admits null', () => {
    const { components } = toOpenApi30(
      documentOf({ A: { type: 'object' }, B: { type: 'object', properties: { a: nullOr('A') } } }),
    );
    expect(components.schemas).toEqual({
      A: { type: 'object', nullable: true },
      B: { type: 'object', properties: { a: { $ref: '#/components/schemas/A' } } },
    });
  });

  test('has a nullable copy of a component when other references to it do not admit null', () => {
    const a = { $ref: '#/components/schemas/A' };
    const { components } = toOpenApi30(
      documentOf({ A: { type: 'object' }, B: { type: 'object', properties: { a, b: nullOr('A') } } }),
    );
    expect(components.schemas).toEqual({
      A: { type: 'object' },
      NullableA: { type: 'object', nullable: true },
      B: { type: 'object', properties: { a, b: { $ref: '#/components/schemas/NullableA' } } },
    });
  });

  test('names the license by its URL', () => {
    const { info, openapi } = toOpenApi30(documentOf({}));
    expect(openapi).toBe('3.0.3');
    expect(info.license).toEqual({
      name: 'Apache License 2.0',
      url: 'https://spdx.org/licenses/Apache-2.0.html',
    });
  });

  test('converts schemas of parameters, bodies, responses and headers', async () => {
    const converted = JSON.stringify(toOpenApi30((await openApiDocument()) as OpenApiDocument));
    expect(converted).not.toMatch(/"(const|examples|propertyNames)":|"type":(\[|"null")/);
    expect(converted).toContain('"nullable":true');
  });
});
