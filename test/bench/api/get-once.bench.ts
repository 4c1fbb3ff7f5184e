import { getBench, ROWS } from './read-bench.ts';

export const bench = getBench({
  name: 'api-get-once',
  what: 'each deployment once a round: more than Berth remembers configurations of.',
  read: ROWS,
});
