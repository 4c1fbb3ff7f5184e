import { describe, expect, test } from 'vitest';
import type { Deployment } from '../../../src/console/api/types.ts';
import { parseSearch, stringifySearch } from '../../../src/console/app/search.ts';
import { commandOptions, filtersOf, queryOf } from '../../../src/console/fleet/filters.ts';
import { type FleetPage, nextOffset, rowsOf, withChanges } from '../../../src/console/fleet/pages.ts';

const row = (n: number, name = `d${n}`) =>
  ({ id: `id-${n}`, name, created_at: `2026-01-01T00:00:${String(n).padStart(2, '0')}Z` }) as Deployment;
const page = (numbers: readonly number[], isLast = false): FleetPage => ({
  rows: numbers.map((n) => row(n)),
  isLast,
});
const ids = (pages: readonly FleetPage[]) => rowsOf(pages).map(({ id }) => Number(id.slice(3)));

describe('withChanges', () => {
  const pages = [page([9, 8, 7]), page([6, 5, 4])];

  test('replaces a row at its place', () => {
    const changed = withChanges(pages, ['id-8'], [row(8, 'new')]);
    expect(ids(changed)).toEqual([9, 8, 7, 6, 5, 4]);
    expect(rowsOf(changed)[1]?.name).toBe('new');
  });

  test('removes a row that was deleted or no longer matches', () => {
    expect(ids(withChanges(pages, ['id-8', 'id-4'], []))).toEqual([9, 7, 6, 5]);
  });

  test('inserts a new row where the list API would return it', () => {
    expect(ids(withChanges(pages, ['id-10'], [row(10)]))).toEqual([10, 9, 8, 7, 6, 5, 4]);
  });

  test('leaves out a row that belongs to a page that is not loaded', () => {
    expect(ids(withChanges(pages, ['id-1'], [row(1)]))).toEqual([9, 8, 7, 6, 5, 4]);
    const all = [...pages, page([3], true)];
    expect(ids(withChanges(all, ['id-1'], [row(1)]))).toEqual([9, 8, 7, 6, 5, 4, 3, 1]);
  });
});

test('nextOffset is the number of loaded rows, until the last page', () => {
  expect(nextOffset([page([3, 2]), page([1])])).toBe(3);
  expect(nextOffset([page([3, 2]), page([1], true)])).toBeUndefined();
});

test('rowsOf contains a row once that two pages have', () => {
  expect(ids([page([3, 2]), page([2, 1])])).toEqual([3, 2, 1]);
});

describe('filters', () => {
  test('come from the URL and return to it', () => {
    const query = '?name_contains=a%26b&status=READY&remote_reconciled=false';
    const filters = filtersOf(parseSearch(query));
    expect(filters).toEqual({ name_contains: 'a&b', status: 'READY', remote_reconciled: 'false' });
    expect(stringifySearch(filters)).toBe(query);
    expect(queryOf(filters)).toMatchObject({ remote_reconciled: false });
  });

  test('keep texts that look like numbers', () => {
    expect(filtersOf(parseSearch('?image_version=1.10'))).toEqual({ image_version: '1.10' });
  });

  test('leave out what the API would reject', () => {
    expect(filtersOf(parseSearch('?status=BROKEN&other=1&name='))).toEqual({});
  });

  test('have options of the command line, if it has all of them', () => {
    expect(commandOptions({ status: 'READY' })).toEqual(['--status', 'READY']);
    expect(commandOptions({ status: 'READY', name: 'shop' })).toBeNull();
  });
});
