const SUFFIXES: Readonly<Record<string, [base: bigint, exponent: number]>> = {
  n: [10n, -9],
  u: [10n, -6],
  m: [10n, -3],
  '': [10n, 0],
  k: [10n, 3],
  M: [10n, 6],
  G: [10n, 9],
  T: [10n, 12],
  P: [10n, 15],
  E: [10n, 18],
  Ki: [2n, 10],
  Mi: [2n, 20],
  Gi: [2n, 30],
  Ti: [2n, 40],
  Pi: [2n, 50],
  Ei: [2n, 60],
};
const PATTERN = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/;
const NANO = 9;

/**
 * Parses a Kubernetes quantity (`500m`, `1.5Gi`, `1e3`) exactly, in billionths; undefined when it is invalid. Smaller
 * fractions are rounded up, as in the API server. Source: k8s.io/apimachinery/pkg/api/resource.
 */
export function quantityInBillionths(text: string): bigint | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', scientific, suffix = ''] = match;
  if (whole === '' && fraction === '') return undefined;
  const [base, power] = SUFFIXES[suffix] ?? [10n, 0];
  let numerator = BigInt(whole + fraction);
  let tens = NANO - fraction.length + (scientific === undefined ? 0 : Number(scientific.slice(1)));
  if (base === 2n) numerator <<= BigInt(power);
  else tens += power;
  const magnitude =
    tens >= 0 ? numerator * 10n ** BigInt(tens) : divideRoundingUp(numerator, 10n ** BigInt(-tens));
  return sign === '-' ? -magnitude : magnitude;
}

function divideRoundingUp(numerator: bigint, divisor: bigint): bigint {
  return (numerator + divisor - 1n) / divisor;
}
