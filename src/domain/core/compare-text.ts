/** Compares two texts by code units, independent of the locale. undefined counts as empty. */
export function compareText(a = '', b = ''): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
