import { NANO_PER_UNIT, parseQuantity, wholeMillicores } from './quantity.ts';

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
