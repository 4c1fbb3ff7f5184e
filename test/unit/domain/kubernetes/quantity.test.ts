import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareQuantities,
  parseQuantity,
  quantitySchema,
  wholeMillicores,
} from '../../../../src/domain/kubernetes/quantity.ts';

const NANO = 10n ** 9n;

describe('parseQuantity', () => {
  it.each([
    ['0', 0n],
    ['1', NANO],
    ['+1', NANO],
    ['-1', -NANO],
    ['250m', NANO / 4n],
    ['0.25', NANO / 4n],
    ['.5', NANO / 2n],
    ['1.', NANO],
    ['007', 7n * NANO],
    ['1n', 1n],
    ['1u', 1000n],
    ['0.1n', 1n], // rounded away from zero, as Kubernetes does
    ['-0.1n', -1n],
    ['1k', 1000n * NANO],
    ['1Ki', 1024n * NANO],
    ['1.5Gi', 1_610_612_736n * NANO],
    ['1E', 10n ** 18n * NANO],
    ['1Ei', 2n ** 60n * NANO],
    ['2e3', 2000n * NANO],
    ['2E3', 2000n * NANO],
    ['5e-1', NANO / 2n],
    ['1e+2', 100n * NANO],
  ])('parses %s', (value, nano) => expect(parseQuantity(value)).toBe(nano));

  it.each([
    '',
    ' ',
    '.',
    '+',
    '-',
    '1 ',
    ' 1',
    '1K',
    '1ki',
    '1Kii',
    '1mi',
    '1e',
    '1e1.5',
    '1e1000',
    '0x1',
    '1_000',
    '1,5',
    '--1',
    '1GiB',
    'NaN',
    '٣',
  ])('rejects %j', (value) => expect(parseQuantity(value)).toBeNull());

  it('rejects a text that is longer than any reasonable number', () =>
    expect(parseQuantity('1'.repeat(65))).toBeNull());

  it('orders quantities by their amounts', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (a, b) => {
        expect(Math.sign(compareQuantities(`${a}m`, `${b}m`))).toBe(Math.sign(a - b));
        expect(compareQuantities(`${a}Ki`, `${a * 1024}`)).toBe(0);
      }),
    );
    expect(compareQuantities('1Gi', '1G')).toBeGreaterThan(0);
    expect(() => compareQuantities('x', '1')).toThrow(TypeError);
  });
});

describe('quantitySchema', () => {
  it.each(['0', '100m', '1.5Gi', '1e3'])('accepts %s', (value) =>
    expect(quantitySchema.safeParse(value).success).toBe(true),
  );
  it.each(['', '-1', 'lots', 1, null])('rejects %j', (value) =>
    expect(quantitySchema.safeParse(value).success).toBe(false),
  );
});

describe('wholeMillicores', () => {
  it.each([
    ['500m', '500m'],
    ['0.5', '0.5'],
    ['2', '2'],
    ['0.30000000000000004', '300m'],
    ['300.00000000000006m', '300m'],
    ['1.9999999999999998', '1.9999999999999998'],
    ['0.0005', '1m'],
    ['0.3001', '301m'],
    ['1n', '1m'],
    ['no quantity', 'no quantity'],
  ])('converts %s to %s', (cores, millicores) => {
    expect(wholeMillicores(cores)).toBe(millicores);
  });
});

describe('amounts', () => {
  it.each([
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
  ])('are equal: %s and %s', (a, b) => {
    expect(parseQuantity(a)).toBe(parseQuantity(b));
    expect(parseQuantity(a)).not.toBeNull();
  });

  it.each(['', 'm', '1 Gi', '1gi', 'one', '1Kii', '.', '1e', '--1', '0x10'])(
    'do not exist for %j, which is not a quantity',
    (text) => {
      expect(parseQuantity(text)).toBeNull();
    },
  );

  it('differ when the quantities differ', () => {
    expect(parseQuantity('1G')).not.toBe(parseQuantity('1Gi'));
    expect(parseQuantity('999m')).not.toBe(parseQuantity('1'));
  });

  it('keep the order of whole numbers, and are multiplied by the factor of a suffix', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(1_000_000), (a, b) => {
        const [x, y] = [parseQuantity(String(a)) ?? 0n, parseQuantity(String(b)) ?? 0n];
        expect(x < y).toBe(a < b);
        expect(parseQuantity(`${a}Mi`)).toBe(x * 1024n * 1024n);
        expect((parseQuantity(`${a}m`) ?? 0n) * 1000n).toBe(x);
      }),
    );
  });
});
