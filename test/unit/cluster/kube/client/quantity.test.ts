import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quantityInBillionths } from '../../../../../src/cluster/kube/client/quantity.ts';

test.each([
  ['1', '1000m'],
  ['0.5', '500m'],
  ['1Gi', '1024Mi'],
  ['1.5Gi', '1536Mi'],
  ['1k', '1000'],
  ['1e3', '1k'],
  ['1E3', '1000'],
  ['2.50', '2500m'],
  ['100u', '100000n'],
  ['1Ei', '1152921504606846976'],
  ['-1', '-1000m'],
  ['0.0000000001', '1n'],
  ['.5', '0.50'],
  ['5.', '5'],
])('%s equals %s', (a, b) => {
  expect(quantityInBillionths(a)).toBe(quantityInBillionths(b));
  expect(quantityInBillionths(a)).toBeDefined();
});

test.each(['', 'm', '1 Gi', '1gi', 'one', '1Kii', '.', '1e', '--1', '0x10'])(
  '%j is not a quantity',
  (text) => {
    expect(quantityInBillionths(text)).toBeUndefined();
  },
);

test('different amounts have different values', () => {
  expect(quantityInBillionths('1G')).not.toBe(quantityInBillionths('1Gi'));
  expect(quantityInBillionths('999m')).not.toBe(quantityInBillionths('1'));
});

test('whole numbers keep their order, and suffixes multiply them by their factor', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.nat(1_000_000), (a, b) => {
      const [x, y] = [quantityInBillionths(String(a)) ?? 0n, quantityInBillionths(String(b)) ?? 0n];
      expect(x < y).toBe(a < b);
      expect(quantityInBillionths(`${a}Mi`)).toBe(x * 1024n * 1024n);
      expect((quantityInBillionths(`${a}m`) ?? 0n) * 1000n).toBe(x);
    }),
  );
});
