import { getBench } from './read-bench.ts';

const READ = 1000;

export const bench = getBench({
  name: 'api-get',
  what: `of ${READ} deployments in turn, as clients poll: what Berth remembers of a configuration is of use.`,
  read: READ,
});
