import { getBench, ROWS } from './read-bench.ts';

export const READ = ROWS;

export const bench = getBench({
  name: 'api-get-once',
  what: 'each deployment once a round: more than Berth remembers configurations of.',
  // Fewer requests would read the same first ones in each round.
  n: READ,
  goalsFrom: READ,
  read: READ,
});
