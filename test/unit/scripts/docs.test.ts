import { expect, test } from 'vitest';
import { stalePages } from '../../../scripts/docs.ts';

test('the pages that are made from data say what the data says (npm run docs)', () => {
  expect(stalePages()).toEqual([]);
});
