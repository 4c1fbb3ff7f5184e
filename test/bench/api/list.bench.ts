import { listBench } from './read-bench.ts';

export const bench = listBench({
  name: 'api-list',
  what: 'its first page, as clients poll it.',
  pages: 1,
  // Large enough, so that the compilation of hot code is a small part.
  turns: 500,
});
