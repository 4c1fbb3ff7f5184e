/** What the benches of GET and LIST have in common: rows that are there, and two servers that read them. */
import type { Bench, BenchContext, Sides } from '../bench.ts';
import { startLoad } from '../load/load.ts';
import { call, create, PATH } from './bodies.ts';
import { checkSizes, type ProbedRequest, scriptOf, startFloor } from './floor.ts';
import { type ApiProcess, prepareHub } from './hub.ts';
import { CONNECTIONS, requestMeasures, requestRound } from './measure.ts';
import { seedDeployments } from './seed.ts';

interface Reads {
  /** Deployments in the tenant. */
  readonly rows: number;
  /** Requests a round. */
  readonly requests: number;
  /** Paths to read, given the ids of all deployments. */
  paths(ids: readonly string[]): string[];
  /** The floor's route. */
  readonly route: string;
  readonly list: boolean;
}

const LIST_QUERY = '?limit=100';
export const LIST_PATH = `${PATH}${LIST_QUERY}`;

async function startReads(context: BenchContext, reads: Reads): Promise<Sides> {
  const hub = await prepareHub(context);
  const load = startLoad();
  const stop = async () => {
    await load.stop();
    await hub.stop();
  };
  try {
    const api = await hub.startApi('api');
    const { id } = await create(api.url, hub.apiKey, 'pattern');
    context.log(`seeding ${reads.rows} deployments`);
    const ids = await seedDeployments(hub, id, reads.rows);
    const idOf = (index: number) => ids[index % ids.length] ?? id;
    const probe = ({ url }: ApiProcess, index: number): ProbedRequest => {
      const pathId = reads.list ? null : idOf(index);
      const path = pathId === null ? LIST_PATH : `${PATH}/${pathId}`;
      return { name: null, pathId, send: () => call(url, hub.apiKey, 'GET', path) };
    };
    const script = await scriptOf(hub, probe);
    const answer = await call<Record<string, unknown>>(api.url, hub.apiKey, 'GET', `${PATH}/${idOf(0)}`);
    const { list } = reads;
    const floor = await startFloor(hub, hub, [
      { method: 'GET', url: reads.route, status: 200, script, answer, list },
    ]);
    await checkSizes(probe(api, 0).send(), probe(floor, 0).send());
    const job = {
      method: 'GET',
      paths: reads.paths(ids),
      body: null,
      requests: reads.requests,
      expected: 200,
    } as const;
    return {
      ours: () => requestRound(load, api, { ...job, headers: { 'x-api-key': hub.apiKey } }),
      floor: () => requestRound(load, floor, { ...job, headers: {} }),
      notes: () => [
        `${reads.requests} requests a round, ${reads.rows} deployments in the tenant, each with two secrets that are answered in plain; ${script.length} statement(s) each.`,
      ],
      stop: async () => {
        await floor.stop();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A bench of reads. @param reads what it reads, by --n */
export function readBench(bench: Omit<Bench, 'start'>, reads: (n: number | null) => Reads): Bench {
  return { ...bench, start: (context) => startReads(context, reads(context.n)) };
}

/** What the benches of reads are held against. */
export const READ_FLOOR =
  'fastify and pg that play the statements which Berth was seen to send, over as many connections, and answer as many bytes; no key, no schema, no decryption.';

/** Deployments of the tenant, where single ones are read. */
export const ROWS = 10_000;
/** Long enough that what the compiler does for a young process is a small part. */
const REQUESTS = 8000;

/** A bench of single deployments. @param read how many of them, in turn */
export function getBench({ name, what, read }: { name: string; what: string; read: number }): Bench {
  return readBench(
    {
      name,
      what: `GET /v2/deployments/{id} over ${CONNECTIONS} connections, ${what}`,
      floor: READ_FLOOR,
      n: REQUESTS,
      runs: 9,
      measures: requestMeasures(0.9),
    },
    (n) => ({
      rows: ROWS,
      requests: n ?? REQUESTS,
      paths: (ids) => ids.slice(0, read).map((id) => `${PATH}/${id}`),
      route: `${PATH}/:id`,
      list: false,
    }),
  );
}
