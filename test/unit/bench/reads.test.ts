/** What the benches of reads request. */
import { expect, test } from 'vitest';
import { toScript, valuesFor } from '../../bench/api/floor-script.ts';
import { checkRows, firstPages } from '../../bench/api/read-bench.ts';

test('pages come one after the other, no more than there are; the floor has the same offset in its path', () => {
  expect(firstPages(80, 8)).toHaveLength(1);
  expect(firstPages(80, 100_000)).toHaveLength(80);
  expect(firstPages(2, 100_000)).toEqual([
    { path: '/v2/deployments?limit=100', floorPath: '/v2/deployments/after/0?limit=100', id: '0' },
    {
      path: '/v2/deployments?limit=100&offset=100',
      floorPath: '/v2/deployments/after/100?limit=100',
      id: '100',
    },
  ]);
});

test('the floor of a page plays its offset, taken from its path', () => {
  const [, second, third] = firstPages(3, 1000).map(({ id }) => ({
    name: null,
    pathId: id,
    statements: [{ text: 'SELECT', values: ['tenant', id], named: true }],
  }));
  if (second === undefined || third === undefined) throw new Error('there are too few pages');
  const [statement] = toScript(second, third);
  if (statement === undefined) throw new Error('there is no statement');
  const values = valuesFor(statement, { name: null, pathId: '700' }, new Map(), () => 'new');
  expect(values).toEqual(['tenant', '700']);
});

test('a floor that answers other rows than Berth is none', () => {
  const page = (...ids: string[]) => ({ resources: ids.map((id) => ({ id })) });
  expect(() => checkRows(page('a', 'b'), page('a', 'b'))).not.toThrow();
  expect(() => checkRows({ id: 'a' }, { id: 'a' })).not.toThrow();
  expect(() => checkRows(page('a', 'b'), page('a', 'c'))).toThrow('it reads other rows');
  expect(() => checkRows(page('a'), page('a', 'b'))).toThrow('it reads other rows');
  expect(() => checkRows({ id: 'a' }, { id: 'b' })).toThrow('it reads other rows');
});
