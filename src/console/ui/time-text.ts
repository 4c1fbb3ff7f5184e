/** Times in words. */

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** A duration with its two largest units at most, such as `2 h 5 min`. @param seconds at least 0 */
export function durationText(seconds: number): string {
  const [first, second] = UNITS.map(([unit, size], index) => {
    const above = UNITS[index - 1]?.[1];
    const count = Math.floor((above === undefined ? seconds : seconds % above) / size);
    return { unit, count };
  }).filter(({ count }) => count > 0);
  if (first === undefined) return '0 s';
  // Days with minutes are more exact than a reader needs.
  const isAdjacent =
    second !== undefined &&
    UNITS.findIndex(([unit]) => unit === second.unit) - UNITS.findIndex(([unit]) => unit === first.unit) ===
      1;
  const rest = isAdjacent && first.unit !== 'min' ? ` ${second.count} ${second.unit}` : '';
  return `${first.count} ${first.unit}${rest}`;
}

/** A time from now, such as `5 min ago` or `in 2 h`. */
export function relativeText(at: string, now: number): string {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  if (Number.isNaN(seconds)) return at;
  return seconds >= 0 ? `${durationText(seconds)} ago` : `in ${durationText(-seconds)}`;
}
