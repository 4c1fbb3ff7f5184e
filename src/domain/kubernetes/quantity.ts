import { z } from 'zod';

/**
 * Kubernetes quantities as exact integers.
 * Grammar and rounding: k8s.io/apimachinery pkg/api/resource (sign, digits with a point, suffix or decimal exponent).
 */

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d{1,3})?$/;
/** Maximum length of a quantity. Kubernetes accepts longer texts, which are not needed. */
export const MAX_QUANTITY_LENGTH = 64;
/** Digits of the smallest unit of Kubernetes quantities: 10^-9. */
const NANO_DIGITS = 9;

const DECIMAL_EXPONENTS: Readonly<Record<string, number>> = {
  '': 0,
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_EXPONENTS: Readonly<Record<string, bigint>> = {
  Ki: 10n,
  Mi: 20n,
  Gi: 30n,
  Ti: 40n,
  Pi: 50n,
  Ei: 60n,
};

/** An exact amount in billionths of the unit (core, byte, item). */
export type NanoAmount = bigint;

export const NANO_PER_UNIT: NanoAmount = 10n ** BigInt(NANO_DIGITS);

function divideRoundingUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return quotient * divisor === dividend ? quotient : quotient + 1n;
}

function scaleToNano(digits: bigint, fractionDigits: number, suffix: string): bigint {
  const shift = BINARY_EXPONENTS[suffix];
  if (shift !== undefined)
    return divideRoundingUp((digits << shift) * NANO_PER_UNIT, 10n ** BigInt(fractionDigits));
  const exponent = DECIMAL_EXPONENTS[suffix] ?? Number(suffix.slice(1));
  const power = NANO_DIGITS + exponent - fractionDigits;
  return power >= 0 ? digits * 10n ** BigInt(power) : divideRoundingUp(digits, 10n ** BigInt(-power));
}

/**
 * Parses a quantity ("250m", "1.5Gi", "2e3"). Amounts finer than 10^-9 are rounded away from zero, as in Kubernetes.
 * @returns the amount in billionths of the unit, or null if `value` is not a quantity
 */
export function parseQuantity(value: string): NanoAmount | null {
  if (value.length > MAX_QUANTITY_LENGTH) return null;
  const match = QUANTITY.exec(value);
  if (!match) return null;
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  if (whole === '' && fraction === '') return null;
  const amount = scaleToNano(BigInt(whole + fraction), fraction.length, suffix);
  return sign === '-' ? -amount : amount;
}

/**
 * Compares two valid quantities by amount.
 * @returns negative, zero or positive, as for Array.prototype.sort
 * @throws TypeError if one of the texts is not a quantity
 */
export function compareQuantities(left: string, right: string): number {
  const a = parseQuantity(left);
  const b = parseQuantity(right);
  if (a === null || b === null) throw new TypeError('failed to compare quantities: one of them is not valid');
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const NANO_PER_MILLI: NanoAmount = NANO_PER_UNIT / 1000n;

/**
 * Cores without the rounding error of binary fractions ("0.30000000000000004", slightly above 300m). Any other text is
 * returned unchanged.
 */
export function withoutCoreNoise(cores: string): string {
  const nano = parseQuantity(cores) ?? 0n;
  const milli = nano / NANO_PER_MILLI;
  return milli > 0n && nano - milli * NANO_PER_MILLI === 1n ? `${milli}m` : cores;
}

/** Cores in whole millicores, rounded up after removal of rounding errors, as the API server does in pod templates. */
export function wholeMillicores(cores: string): string {
  const exact = withoutCoreNoise(cores);
  const nano = parseQuantity(exact);
  if (nano === null || nano % NANO_PER_MILLI === 0n) return exact;
  return `${nano / NANO_PER_MILLI + 1n}m`;
}

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const KIBI = 1024n;

/**
 * The normal form of a quantity, with one text for each amount: `64Mi` for `65536Ki`, `500m` for `0.5`, `1` for
 * `1000m`, `1k` for `1e3`. Whole multiples of 1024 have a binary suffix, all other amounts have a decimal suffix. Most
 * quantities that people write are already in this form, so that a hash of the form equals the hash of the written
 * text. A text that is not a quantity is returned unchanged.
 */
export function normalQuantity(value: unknown): unknown {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return value;
  const nano = parseQuantity(text);
  if (nano === null) return value;
  if (nano === 0n) return '0';
  const units = nano / NANO_PER_UNIT;
  if (units * NANO_PER_UNIT === nano && units % KIBI === 0n) return shortest(units, KIBI, ['', ...BINARY]);
  return shortest(nano, 1000n, DECIMAL);
}

/**
 * The normal form of a number of cores. The API server stores whole thousandths in pod templates. Floating-point errors
 * are removed.
 */
export function normalCores(value: unknown): unknown {
  return normalQuantity(typeof value === 'string' ? wholeMillicores(value) : value);
}

function shortest(amount: bigint, step: bigint, suffixes: readonly string[]): string {
  let [left, at] = [amount, 0];
  while (left % step === 0n && at < suffixes.length - 1) [left, at] = [left / step, at + 1];
  return `${left}${suffixes[at]}`;
}

/** A quantity of at least 0, as text. */
export const quantitySchema = z
  .string()
  .min(1)
  .max(MAX_QUANTITY_LENGTH)
  .refine(
    (value) => parseQuantity(value) !== null,
    'must be a Kubernetes quantity: a number with an optional suffix such as m, Ki, Mi, Gi, k, M, G',
  )
  .refine((value) => (parseQuantity(value) ?? 0n) >= 0n, 'must not be negative');
