/** Summarizes many latencies in one sample. */
import type { Sample } from '../bench.ts';
import { quantile } from '../statistics.ts';

/** The values `<name>p50` and `<name>p99`. @param values in ms */
export function percentiles(values: readonly number[], name = ''): Sample {
  const sorted = values.toSorted((a, b) => a - b);
  return { [`${name}p50`]: quantile(sorted, 0.5), [`${name}p99`]: quantile(sorted, 0.99) };
}
