import { expect, test } from 'vitest';
import { stalePages } from '../../../scripts/docs.ts';

test('the generated pages match their data (to update them, run npm run docs)', () => {
  expect(stalePages()).toEqual([]);
});
