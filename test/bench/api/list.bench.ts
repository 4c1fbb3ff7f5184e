import { listBench } from './read-bench.ts';

export const bench = listBench({
  name: 'api-list',
  what: 'its first page, as clients poll it.',
  pages: 1,
  // Long enough that what the compiler does for a young process is a small part.
  turns: 500,
});
