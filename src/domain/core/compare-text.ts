/** Order of two texts by their code units, the same on every machine; an absent one is as an empty one. */
export function compareText(a = '', b = ''): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
