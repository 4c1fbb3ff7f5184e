import type { Deployment } from '../api/types.ts';

/** The rows that are loaded, in pages as they were requested. The list API returns the newest deployments first. */

/** Maximum number of rows in a request. */
export const PAGE_SIZE = 100;

export interface FleetPage {
  readonly rows: readonly Deployment[];
  /** Whether no rows follow. */
  readonly isLast: boolean;
}

/** The loaded rows in order, each once: rows move to a later page when deployments are created between two requests. */
export function rowsOf(pages: readonly FleetPage[]): Deployment[] {
  return [...new Map(pages.flatMap(({ rows }) => rows).map((row) => [row.id, row])).values()];
}

/** Offset of the next page; undefined: all rows are loaded. */
export function nextOffset(pages: readonly FleetPage[]): number | undefined {
  if (pages.at(-1)?.isLast !== false) return undefined;
  return pages.reduce((sum, { rows }) => sum + rows.length, 0);
}

const isNewer = (a: Deployment, b: Deployment) =>
  a.created_at > b.created_at || (a.created_at === b.created_at && a.id > b.id);

/** Whether a row that is not loaded belongs between the loaded ones. */
function belongs(row: Deployment, pages: readonly FleetPage[]): boolean {
  const last = pages.findLast(({ rows }) => rows.length > 0)?.rows.at(-1);
  return pages.at(-1)?.isLast === true || (last !== undefined && isNewer(row, last));
}

/** The pages with new rows at their places. */
function insert(pages: readonly FleetPage[], added: readonly Deployment[]): FleetPage[] {
  let waiting = added.toSorted((a, b) => (isNewer(a, b) ? -1 : 1));
  return pages.map(({ rows, isLast }, index) => {
    const end = rows.at(-1);
    const isFinal = index === pages.length - 1;
    const here = waiting.filter((row) => isFinal || (end !== undefined && isNewer(row, end)));
    if (here.length === 0) return { rows, isLast };
    waiting = waiting.filter((row) => !here.includes(row));
    return { rows: [...rows, ...here].toSorted((a, b) => (isNewer(a, b) ? -1 : 1)), isLast };
  });
}

/**
 * The pages after some deployments have changed.
 * @param changed ids that were requested
 * @param current those of them that exist and match the filters
 */
export function withChanges(
  pages: readonly FleetPage[],
  changed: readonly string[],
  current: readonly Deployment[],
): FleetPage[] {
  const requested = new Set(changed);
  const byId = new Map(current.map((row) => [row.id, row]));
  const loaded = new Set(rowsOf(pages).map(({ id }) => id));
  const kept = pages.map(({ rows, isLast }) => ({
    rows: rows.flatMap((row) => (requested.has(row.id) ? (byId.get(row.id) ?? []) : row)),
    isLast,
  }));
  return insert(
    kept,
    current.filter((row) => !loaded.has(row.id) && belongs(row, pages)),
  );
}
