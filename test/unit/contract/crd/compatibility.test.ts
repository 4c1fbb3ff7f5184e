import { describe, expect, it, test } from 'vitest';
import { areCompatible, missingFields } from '../../../../src/contract/crd/compatibility.ts';
import { customResourceDefinition } from '../../../../src/contract/crd/crd.ts';

test.each([
  ['1.2.3', '1.9.0', true],
  ['1.2.3', '2.0.0', false],
  ['0.4.1', '0.4.9', true],
  ['0.4.1', '0.5.0', false],
  ['0.4.1', '1.4.1', false],
  ['1.2.3-rc.1', '1.2.3', true],
  ['unknown', 'unknown', false],
])('compares hub %s with listener %s and returns %s', (hub, listener, expected) => {
  expect(areCompatible(hub, listener)).toBe(expected);
});

describe('missingFields', () => {
  const schema = () =>
    structuredClone(customResourceDefinition().spec.versions[0]?.schema.openAPIV3Schema ?? {});

  it('returns no field for equal schemas', () => {
    expect(missingFields(schema(), schema())).toEqual([]);
  });

  it('returns the path of the outermost missing field, also in lists', () => {
    const expected = {
      properties: {
        spec: { properties: { a: { properties: { b: {} } }, list: { items: { properties: { name: {} } } } } },
      },
    };
    expect(
      missingFields(expected, { properties: { spec: { properties: { list: { items: {} } } } } }),
    ).toEqual(['spec.a', 'spec.list[].name']);
    expect(missingFields(expected, {})).toEqual(['spec']);
  });
});
