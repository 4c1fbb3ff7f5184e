import { listBench, PAGE_ROWS } from './read-bench.ts';

/** More than are remembered, and no more than that takes: PostgreSQL goes over the rows before a page. */
const PAGES = 80;
/** Deployments that are read in turn. */
export const READ = PAGES * PAGE_ROWS;

export const bench = listBench({
  name: 'api-list-once',
  what: `its first ${PAGES} pages in turn (offset 0 to ${READ - PAGE_ROWS}), ${READ} deployments: more than Berth remembers configurations of. PostgreSQL goes over the rows before a page, on both sides alike: the deeper the pages, the nearer to 1 is the ratio, whatever Berth does with them.`,
  pages: PAGES,
  turns: 6,
});
