import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { clientTypes, typeOf } from '../../../../scripts/client-types.ts';
import { openApiDocument } from '../../../../scripts/openapi-document.ts';
import type { OpenApiDocument } from '../../../../src/hub/api/openapi/openapi-types.ts';

test('src/cli/client/api-types.ts matches the OpenAPI document (to update it, run npm run client-types)', async () => {
  const made = clientTypes((await openApiDocument()) as OpenApiDocument);
  const kept = readFileSync(new URL('../../../../src/cli/client/api-types.ts', import.meta.url), 'utf8');
  expect(kept).toBe(made);
});

describe('typeOf', () => {
  test.each([
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ enum: ['a', 'b'] }, '"a" | "b"'],
    [{ const: 1 }, '1'],
    [{ $ref: '#/components/schemas/Volume' }, 'Volume'],
    [{ type: 'array', items: { type: 'string' } }, '(string)[]'],
    [{ anyOf: [{ type: 'number' }, { type: 'null' }] }, 'number | null'],
    [
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: {} },
        required: ['a'],
        additionalProperties: false,
      },
      '{ "a": string; "b"?: unknown }',
    ],
    [{ type: 'object', additionalProperties: { type: 'string' } }, 'Record<string, string>'],
    [{}, 'unknown'],
  ])('converts %j to %s', (schema, type) => {
    expect(typeOf(schema)).toBe(type);
  });
});
