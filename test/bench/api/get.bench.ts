import { getBench } from './read-bench.ts';

const READ = 1000;
/** Large enough, so that the compilation of hot code is a small part. */
const REQUESTS = 40_000;

export const bench = getBench({
  name: 'api-get',
  what: `of ${READ} deployments in turn, as clients poll.`,
  n: REQUESTS,
  goalsFrom: REQUESTS,
  read: READ,
});
