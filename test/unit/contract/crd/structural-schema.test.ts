import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toStructuralSchema } from '../../../../src/contract/crd/structural-schema.ts';
import { quantitySchema } from '../../../../src/domain/kubernetes/quantity.ts';

const TABLE: [string, z.ZodType, object][] = [
  [
    'strict object',
    z.strictObject({ a: z.string() }),
    { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
  ],
  [
    'description',
    z.string().max(3).describe('What.'),
    { description: 'What.', type: 'string', maxLength: 3 },
  ],
  [
    'default',
    z.strictObject({ n: z.int().min(1).default(2) }),
    { type: 'object', properties: { n: { type: 'integer', default: 2, minimum: 1 } } },
  ],
  [
    'prefault',
    z.strictObject({ n: z.int().min(1).max(9).optional() }).prefault({}),
    { type: 'object', default: {}, properties: { n: { type: 'integer', minimum: 1, maximum: 9 } } },
  ],
  ['literal', z.literal('v1'), { type: 'string', enum: ['v1'] }],
  ['enum', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
  ['unbounded integer', z.int(), { type: 'integer' }],
  ['integer above', z.int().gt(0).max(5), { type: 'integer', minimum: 1, maximum: 5 }],
  ['number above', z.number().gt(0), { type: 'number', minimum: 0, exclusiveMinimum: true }],
  [
    'alternatives of one type',
    z.string().max(3).or(z.literal('')),
    { type: 'string', anyOf: [{ maxLength: 3 }, { enum: [''] }] },
  ],
  [
    'map',
    z.record(z.string().max(9), z.string().max(3)),
    { type: 'object', additionalProperties: { type: 'string', maxLength: 3 }, maxProperties: 256 },
  ],
  [
    'free-form map',
    z.record(z.string(), z.string()).meta({ freeForm: true }),
    { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 256 },
  ],
  [
    'free-form object',
    z.strictObject({
      a: z.strictObject({ b: z.string() }).meta({ freeForm: true }).optional().describe('A.'),
    }),
    {
      type: 'object',
      properties: { a: { description: 'A.', type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
  ],
  ['list', z.array(z.boolean()).max(2), { type: 'array', items: { type: 'boolean' }, maxItems: 2 }],
];

describe('toStructuralSchema', () => {
  it.each(TABLE)('%s', (_name, schema, expected) => {
    expect(toStructuralSchema(schema)).toEqual(expected);
  });

  it('checks quantities with CEL, also where a default wraps them', () => {
    const schema = toStructuralSchema(
      z.strictObject({ storage: quantitySchema.default('1Gi').describe('Size.') }),
    );
    const storage = schema.properties?.['storage'];
    expect(storage?.['x-kubernetes-validations']?.[0]?.rule).toContain('isQuantity(self)');
    expect(storage).toMatchObject({ default: '1Gi', description: 'Size.' });
  });

  it.each([
    ['alternatives of several types', z.union([z.string(), z.int()])],
    ['a tuple', z.tuple([z.string()])],
  ])('refuses %s instead of losing it', (_name, schema) => {
    expect(() => toStructuralSchema(schema)).toThrow('failed to make a structural schema');
  });
});

it('puts a schema that was given an id, for an OpenAPI document, where it is used', () => {
  const part = z.strictObject({ id: z.string() }).describe('A part.');
  const whole = z.strictObject({ parts: z.array(part), other: part.optional() });
  const before = toStructuralSchema(whole);
  z.globalRegistry.add(part, { ...z.globalRegistry.get(part), id: 'PartOfThisTest' });
  expect(toStructuralSchema(whole)).toEqual(before);
});
