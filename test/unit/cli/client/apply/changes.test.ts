import { expect, test } from 'vitest';
import type { Deployment } from '../../../../../src/cli/client/api.gen.ts';
import { changeLine, readChanges, tagChanges } from '../../../../../src/cli/client/apply/changes.ts';

const MASK = '**********';

const deployment = (spec: object | null, secrets: string[], image = 'registry.example/a:1') =>
  ({
    source_config: { repo_url: null, resource_spec: spec },
    source_revision_config: { image_uri: image },
    secrets: secrets.map((name) => ({ name, value: MASK })),
  }) as unknown as Deployment;

test('lists changed tags by key, in any order of the values', () => {
  const before = new Map([
    ['a', ['1', '2']],
    ['b', ['x']],
    ['c', ['y']],
  ]);
  const after = new Map([
    ['a', ['2', '1']],
    ['b', ['z']],
    ['d', ['m', 'n']],
  ]);
  expect(tagChanges(before, after)).toEqual([
    { field: 'tags.b', before: 'x', after: 'z' },
    { field: 'tags.c', before: 'y', after: null },
    { field: 'tags.d', before: null, after: ['m', 'n'] },
  ]);
});

test('lists what changed between two reads, field by field', () => {
  const before = deployment({ cpu: 1, labels: { a: '1' } }, ['A', 'B']);
  const after = deployment({ cpu: 2, labels: { a: '1' } }, ['B', 'C'], 'registry.example/a:2');
  expect(readChanges(before, after)).toEqual([
    { field: 'source_config.resource_spec.cpu', before: 1, after: 2 },
    {
      field: 'source_revision_config.image_uri',
      before: 'registry.example/a:1',
      after: 'registry.example/a:2',
    },
    { field: 'secrets.A', before: MASK, after: null },
    { field: 'secrets.C', before: null, after: MASK },
  ]);
  expect(readChanges(before, before)).toEqual([]);
  expect(readChanges(deployment(null, []), deployment({ cpu: 2 }, []))).toEqual([
    { field: 'source_config.resource_spec.cpu', before: null, after: 2 },
  ]);
});

test.each([
  [{ field: 'a', before: 1, after: null }, 'a: 1 → not set'],
  [{ field: 'a', before: null, after: { b: '\u001b[2J' } }, 'a: not set → {"b":"\\u001b[2J"}'],
  [{ field: 'secrets.A', before: MASK, after: MASK }, 'secrets.A: the value differs'],
  [{ field: 'secrets.A', before: null, after: MASK }, `secrets.A: not set → "${MASK}"`],
])('prints the change %j', (change, line) => expect(changeLine(change)).toBe(line));
