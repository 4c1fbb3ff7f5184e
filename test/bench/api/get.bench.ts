import { PATH } from './bodies.ts';
import { CONNECTIONS, requestMeasures } from './measure.ts';
import { readBench } from './read-bench.ts';

const ROWS = 10_000;
/** Long enough that what the compiler does for a young process is a small part. */
const REQUESTS = 8000;
const READ = 1000;

export const bench = readBench(
  {
    name: 'api-get',
    what: `GET /v2/deployments/{id} over ${CONNECTIONS} connections, one deployment after the other.`,
    floor:
      'fastify and pg that play the statements which Berth was seen to send, over as many connections, and answer as many bytes; no key, no schema, no decryption.',
    n: REQUESTS,
    runs: 9,
    measures: requestMeasures(0.9),
  },
  (n) => ({
    rows: ROWS,
    requests: n ?? REQUESTS,
    paths: (ids) => ids.slice(0, READ).map((id) => `${PATH}/${id}`),
    route: `${PATH}/:id`,
    list: false,
  }),
);
