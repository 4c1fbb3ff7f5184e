import { getBench, ROWS } from './read-bench.ts';

export const READ = ROWS;

export const bench = getBench({
  name: 'api-get-once',
  what: 'of all deployments in turn: more than Berth remembers configurations of.',
  // Fewer requests, or some more, would read the same first ones in each round.
  n: 5 * READ,
  goalsFrom: READ,
  read: READ,
});
