import { describe, expect, test } from 'vitest';
import { allOf } from '../../../src/console/api/pages.ts';
import { inTitle, isolated } from '../../../src/console/ui/isolated.ts';
import { loadPart, MissingPart, mayReload } from '../../../src/console/ui/late/missing-part.ts';

describe('a missing part of the console', () => {
  test('is loaded again at most once a minute', () => {
    expect(mayReload(null, 1_000_000, false)).toBe(true);
    expect(mayReload('950000', 1_000_000, false)).toBe(false);
    expect(mayReload('930000', 1_000_000, false)).toBe(true);
  });

  test('is not loaded again while a dialog is open or something was typed', () => {
    expect(mayReload(null, 1_000_000, true)).toBe(false);
  });

  test('is an error of the console, so that the router does not load the page again by itself', async () => {
    const cause = new TypeError('Failed to fetch dynamically imported module: /x.js');
    const failed = loadPart(() => Promise.reject(cause));
    await expect(failed).rejects.toThrow(MissingPart);
    await expect(failed).rejects.toMatchObject({ cause });
  });
});

test('a list is requested to its end', async () => {
  const rows = Array.from({ length: 250 }, (_, index) => index);
  const offsets: number[] = [];
  const all = await allOf(async ({ limit, offset }) => {
    offsets.push(offset);
    return { resources: rows.slice(offset, offset + limit), offset: offset + limit };
  }, new AbortController().signal);
  expect(all).toEqual(rows);
  expect(offsets).toEqual([0, 100, 200]);
});

test('only names that can change the direction are isolated in the title of the document', () => {
  expect(inTitle('shop-1 (prod)')).toBe('shop-1 (prod)');
  expect(inTitle('\u202eshop')).toBe(isolated('shop'));
});
