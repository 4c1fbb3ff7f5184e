import { expect, test } from 'vitest';
import { z } from 'zod';
import { quantitySchema } from '../../../src/domain/kubernetes/quantity.ts';
import { leavesOf } from './schema-walk.ts';

test('finds the fields of a schema that has an id for an OpenAPI document', () => {
  const part = z.strictObject({ image: z.string(), size: quantitySchema.optional() });
  const whole = z.strictObject({
    parts: z.array(part),
    other: part.nullable(),
    byName: z.record(z.string(), part),
  });
  const before = leavesOf(whole);
  expect(before.map(({ path }) => path)).toEqual([
    'parts[].image',
    'parts[].size',
    'other.image',
    'other.size',
    'byName.*.image',
    'byName.*.size',
  ]);
  z.globalRegistry.add(part, { id: 'PartOfTheWalk' });
  expect(leavesOf(whole)).toEqual(before);
  expect(before.filter(({ schema }) => schema.quantity).map(({ path }) => path)).toHaveLength(3);
});
