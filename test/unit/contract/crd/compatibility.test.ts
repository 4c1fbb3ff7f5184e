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
])('hub %s with listener %s: %s', (hub, listener, expected) => {
  expect(areCompatible(hub, listener)).toBe(expected);
});

describe('fields that one schema has and another has not', () => {
  const schema = () =>
    structuredClone(customResourceDefinition().spec.versions[0]?.schema.openAPIV3Schema ?? {});

  it('none between equal ones', () => {
    expect(missingFields(schema(), schema())).toEqual([]);
  });

  it('are named by their path, the outermost of nested ones, in lists too', () => {
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
