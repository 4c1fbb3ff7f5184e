import { PATH } from './bodies.ts';
import { CONNECTIONS, requestMeasures } from './measure.ts';
import { LIST_PATH, READ_FLOOR, readBench } from './read-bench.ts';

const ROWS = 100_000;
/** Long enough that what the compiler does for a young process is a small part. */
const REQUESTS = 500;

export const bench = readBench(
  {
    name: 'api-list',
    what: `GET ${LIST_PATH} over ${CONNECTIONS} connections, of a tenant with {n} deployments: its first page, as clients poll it.`,
    floor: READ_FLOOR,
    n: ROWS,
    goalsFrom: 100_000,
    runs: 9,
    measures: requestMeasures(0.9),
  },
  (n) => ({
    rows: n ?? ROWS,
    requests: REQUESTS,
    paths: () => [LIST_PATH],
    route: PATH,
    list: true,
  }),
);
