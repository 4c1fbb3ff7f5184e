import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toStructuralSchema } from '../../../../src/contract/crd/structural-schema.ts';
import { quantitySchema } from '../../../../src/domain/kubernetes/quantity.ts';

const TABLE: [string, z.ZodType, object][] = [
  [
    'a strict object',
    z.strictObject({ a: z.string() }),
    { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
  ],
  [
    'a description',
    z.string().max(3).describe('What.'),
    { description: 'What.', type: 'string', maxLength: 3 },
  ],
  [
    'a default',
    z.strictObject({ n: z.int().min(1).default(2) }),
    { type: 'object', properties: { n: { type: 'integer', default: 2, minimum: 1 } } },
  ],
  [
    'a prefault',
    z.strictObject({ n: z.int().min(1).max(9).optional() }).prefault({}),
    { type: 'object', default: {}, properties: { n: { type: 'integer', minimum: 1, maximum: 9 } } },
  ],
  ['a literal', z.literal('v1'), { type: 'string', enum: ['v1'] }],
  ['an enum', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
  ['an unbounded integer', z.int(), { type: 'integer' }],
  ['an integer above a bound', z.int().gt(0).max(5), { type: 'integer', minimum: 1, maximum: 5 }],
  ['a number above a bound', z.number().gt(0), { type: 'number', minimum: 0, exclusiveMinimum: true }],
  [
    'alternatives of one type',
    z.string().max(3).or(z.literal('')),
    { type: 'string', anyOf: [{ maxLength: 3 }, { enum: [''] }] },
  ],
  [
    'a map',
    z.record(z.string().max(9), z.string().max(3)),
    { type: 'object', additionalProperties: { type: 'string', maxLength: 3 }, maxProperties: 256 },
  ],
  [
    'a free-form map',
    z.record(z.string(), z.string()).meta({ freeForm: true }),
    { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 256 },
  ],
  [
    'a free-form object',
    z.strictObject({
      a: z.strictObject({ b: z.string() }).meta({ freeForm: true }).optional().describe('A.'),
    }),
    {
      type: 'object',
      properties: { a: { description: 'A.', type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
  ],
  ['a list', z.array(z.boolean()).max(2), { type: 'array', items: { type: 'boolean' }, maxItems: 2 }],
];

describe('toStructuralSchema', () => {
  it.each(TABLE)('converts %s', (_name, schema, expected) => {
    expect(toStructuralSchema(schema)).toEqual(expected);
  });

  it('adds a CEL rule for a quantity, also for one with a default', () => {
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
  ])('rejects %s, which a structural schema cannot express', (_name, schema) => {
    expect(() => toStructuralSchema(schema)).toThrow('failed to create a structural schema');
  });
});

it('inlines a schema that has an id for an OpenAPI document', () => {
  const part = z.strictObject({ id: z.string() }).describe('A part.');
  const whole = z.strictObject({ parts: z.array(part), other: part.optional() });
  const before = toStructuralSchema(whole);
  z.globalRegistry.add(part, { ...z.globalRegistry.get(part), id: 'PartOfThisTest' });
  expect(toStructuralSchema(whole)).toEqual(before);
});
