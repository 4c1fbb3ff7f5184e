/** Common parts of the benches of GET and LIST: existing rows, and two servers that read them. */
import type { Bench, BenchContext, Sides } from '../bench.ts';
import { call, create, PATH } from './bodies.ts';
import { checkSizes, scriptOf, startFloor } from './floor.ts';
import type { ApiProcess } from './hub.ts';
import { CONNECTIONS, requestMeasures, requestRound } from './measure.ts';
import { seedDeployments } from './seed.ts';
import { withHub } from './sides.ts';

/** One URL to read. The path of the floor always contains `id`, which is a value of Berth's statement. */
interface Target {
  readonly path: string;
  readonly floorPath: string;
  readonly id: string;
}

interface Reads {
  /** Deployments in the tenant. */
  readonly rows: number;
  /** Number of requests in a round. */
  readonly requests: number;
  /** The URLs to read in turn. @param ids ids of all deployments */
  targets(ids: readonly string[]): Target[];
  /** The route of the floor. */
  readonly route: string;
  readonly list: boolean;
}

type Row = { readonly id: string };
type Answer = Row | { readonly resources: readonly Row[] };
const idsOf = (answer: Answer) => ('resources' in answer ? answer.resources : [answer]).map(({ id }) => id);

/** @throws Error if floor and Berth return different rows */
export function checkRows(ours: Answer, floor: Answer): void {
  const [own, other] = [idsOf(ours), idsOf(floor)];
  const at = own.findIndex((id, index) => id !== other[index]);
  if (at >= 0 || own.length !== other.length)
    throw new Error(
      `failed to make a floor: it returns ${other.length} rows and Berth ${own.length}; row ${at} differs`,
    );
}

const startReads = (context: BenchContext, reads: Reads): Promise<Sides> =>
  withHub(context, async (hub, load, stack) => {
    const api = await hub.startApi('api');
    const { id } = await create(api.url, hub.apiKey, 'pattern');
    context.log(`seeding ${reads.rows} deployments`);
    const ids = await seedDeployments(hub, id, reads.rows);
    const targets = reads.targets(ids);
    const [first] = targets;
    if (first === undefined)
      throw new Error('failed to start a bench of reads: there are no deployments to read');
    const read = ({ url }: ApiProcess, path: string) => call<Answer>(url, hub.apiKey, 'GET', path);
    const job = { method: 'GET', body: null, requests: reads.requests, expected: 200 } as const;
    const paths = targets.map(({ path }) => path);
    const ours = () => requestRound(load, api, { ...job, paths, headers: { 'x-api-key': hub.apiKey } });
    const note = `${reads.requests} requests a round, ${reads.rows} deployments in the tenant, of the same age, status and revision, each with two secrets that the response contains`;
    if (context.side !== undefined) return { ours, notes: () => [`${note}.`] };
    const script = await scriptOf(hub, (recorded, index) => {
      const target = targets[index % targets.length] ?? first;
      return { name: null, pathId: target.id, send: () => read(recorded, target.path) };
    });
    const template = `${PATH}/${ids[0] ?? id}`;
    const answer = await call<Record<string, unknown>>(api.url, hub.apiKey, 'GET', template);
    const { list } = reads;
    const floor = await startFloor(context, hub, [
      { method: 'GET', url: reads.route, status: 200, script, answer, list },
    ]);
    stack.defer(() => floor.stop());
    for (const { path, floorPath } of [first, targets.at(-1) ?? first]) {
      const [own, played] = [await read(api, path), await read(floor, floorPath)];
      checkRows(own, played);
      await checkSizes(Promise.resolve(own), Promise.resolve(played));
    }
    const floorPaths = targets.map(({ floorPath }) => floorPath);
    return {
      ours,
      floor: () => requestRound(load, floor, { ...job, paths: floorPaths, headers: {} }),
      notes: () => [`${note}; ${script.length} statement(s) each.`],
    };
  });

/** A bench of reads. @param reads what it reads, for a value of n */
function readBench(bench: Omit<Bench, 'start'>, reads: (n: number) => Reads): Bench {
  return { ...bench, start: (context) => startReads(context, reads(context.n ?? bench.n)) };
}

/** Description of the floor of reads. */
const READ_FLOOR =
  'fastify and pg send the same statements as Berth, over as many connections as Berth has for all tenants, and respond with as many bytes. No key, no schema, no decryption.';

/** Number of deployments of the tenant, for single reads. */
export const ROWS = 10_000;

type Named = Pick<Bench, 'name' | 'what'>;

interface SingleReads extends Pick<Bench, 'n' | 'goalsFrom'> {
  /** How many of the deployments are read in turn. */
  readonly read: number;
}

/** A bench that reads single deployments. Its n is the number of requests. */
export function getBench({ what, read, ...bench }: Named & SingleReads): Bench {
  return readBench(
    {
      ...bench,
      what: `GET ${PATH}/{id} over ${CONNECTIONS} connections, ${what}`,
      floor: READ_FLOOR,
      runs: 9,
      roundsAStart: 2,
      measures: requestMeasures(0.7),
    },
    (n) => ({
      rows: ROWS,
      requests: n,
      targets: (ids) =>
        ids.slice(0, read).map((id) => ({ path: `${PATH}/${id}`, floorPath: `${PATH}/${id}`, id })),
      route: `${PATH}/:id`,
      list: false,
    }),
  );
}

/** Number of deployments of the tenant, for reads of pages. */
const LIST_ROWS = 100_000;
export const PAGE_ROWS = 100;
const LIST_QUERY = `?limit=${PAGE_ROWS}`;

function pageAfter(offset: number): Target {
  const path = `${PATH}${LIST_QUERY}${offset === 0 ? '' : `&offset=${offset}`}`;
  return { path, floorPath: `${PATH}/after/${offset}${LIST_QUERY}`, id: String(offset) };
}

/** The first pages of a list with this number of rows. @param most maximum number of pages */
export const firstPages = (most: number, rows: number): Target[] =>
  Array.from({ length: Math.min(most, Math.ceil(rows / PAGE_ROWS)) }, (_, page) =>
    pageAfter(page * PAGE_ROWS),
  );

interface PageReads {
  /** How many pages are read in turn, beginning with the first. */
  readonly pages: number;
  /** How often a round reads each page. A round ends with the last page, so the next round starts with the first. */
  readonly turns: number;
}

/** A bench that reads pages of a list. Its n is the number of rows of the tenant. */
export function listBench({ name, what, pages, turns }: Named & PageReads): Bench {
  return readBench(
    {
      name,
      what: `GET ${PATH}${LIST_QUERY} over ${CONNECTIONS} connections, of a tenant with {n} deployments: ${what}`,
      floor: READ_FLOOR,
      n: LIST_ROWS,
      goalsFrom: LIST_ROWS,
      runs: 9,
      roundsAStart: 4,
      measures: requestMeasures(0.7),
    },
    (rows) => {
      const targets = firstPages(pages, rows);
      return {
        rows,
        requests: targets.length * turns,
        targets: () => targets,
        route: `${PATH}/after/:id`,
        list: true,
      };
    },
  );
}
