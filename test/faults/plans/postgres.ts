/**
 * PostgreSQL crashes, restarts or is silent, or a connection breaks: acknowledged changes are present, others are
 * complete or absent.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StopMode } from '../../cluster/postgres.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import {
  CHANGES,
  commitsDeployments,
  crashPlans,
  idlePlan,
  likeWorkload,
  listenPlan,
  type Moment,
  writesDeployments,
} from './postgres-changes.ts';
import { Checks, changeImage, imageChange, inTime, serving, within } from './steps.ts';
import { isUnavailable, Writer } from './writing-clients.ts';

const API = 'api';
/** Statements are given up after 10 s, connections after 5 s; the API waits for neither any longer. */
const ANSWERED_WITHIN_MS = 20_000;
const DOWN_MS = 3_000;
/** Tries to connect have pauses of up to 10 s (src/hub/store/core/notifications.ts). */
const ARMED_WITHIN_S = 15;

const BREAKS: Readonly<Record<string, Moment>> = {
  'in-transaction': {
    says: 'in the transaction, after the write and before COMMIT',
    match: () => writesDeployments,
    fault: { kind: 'lose' },
  },
  'commit-before': {
    says: 'before COMMIT has reached PostgreSQL',
    match: commitsDeployments,
    fault: { kind: 'refuse' },
  },
  'commit-after': {
    says: 'after COMMIT and before its response',
    match: commitsDeployments,
    fault: { kind: 'lose' },
  },
};

const breaks = CHANGES.flatMap((change) =>
  Object.entries(BREAKS).map(([at, moment]) =>
    likeWorkload(
      `postgres/cut/${change}/${at}`,
      `the API's connection is cut ${moment.says}`,
      change,
      () => moment,
      { inSubset: change === 'update' && at === 'commit-after' },
    ),
  ),
);

/** What clients and probes are told while PostgreSQL is away. */
async function lookWhileAway(world: FaultWorld, id: string, checks: Checks): Promise<void> {
  for (const [method, path, body] of [
    ['GET', `/v2/deployments/${id}`],
    ['GET', '/v2/deployments'],
    ['PATCH', `/v2/deployments/${id}`, imageChange('while-away')],
    ['GET', '/readyz'],
  ] as const) {
    const call = world.call<unknown>(method, path, body);
    const answer = await inTime(ANSWERED_WITHIN_MS, `${method} ${path} while PostgreSQL is away`, call);
    checks.that(
      isUnavailable(answer.status, answer.body),
      `${method} ${path} was answered ${answer.status} ${JSON.stringify(answer.body)} while PostgreSQL was away`,
    );
  }
  const alive = await world.call('GET', '/healthz');
  checks.that(alive.status === 200, `GET /healthz was answered ${alive.status}: the process is to live`);
}

/** Several clients write while PostgreSQL goes and comes. */
function underWrites(mode: StopMode | 'silent'): FaultPlan {
  return {
    name: `postgres/under-writes/${mode}`,
    ownPostgres: mode !== 'silent',
    says:
      mode === 'silent'
        ? 'Connections to PostgreSQL stay open and silent while three clients write: 503 in time, and no change is lost or incomplete.'
        : `PostgreSQL is stopped (${mode}) and started while three clients write: 503, /readyz false, and no change is lost or incomplete.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const ids = await Promise.all(['one', 'two', 'three'].map((name) => serving(world, name)));
      const writers = ids.map((id, index) => new Writer(world, id, `w${index}`));
      await Promise.all(writers.map((writer) => writer.progress(3)));
      if (mode === 'silent') world.postgres.blackhole(API);
      else await world.server.stopServer(mode);
      // One that nobody else writes, so that all that is unknown of the others is theirs.
      await lookWhileAway(world, '00000000-0000-4000-8000-000000000000', checks);
      await sleep(DOWN_MS);
      // Nothing passes until then; the server takes connections before its start is told of.
      const from = Date.now();
      if (mode === 'silent') world.postgres.open(API);
      else await world.server.startServer();
      await Promise.all(writers.map((writer) => writer.progress(3)));
      await Promise.all(writers.map((writer) => writer.stop()));
      const ready = await world.call('GET', '/readyz');
      checks.that(ready.status === 200, `GET /readyz is answered ${ready.status} afterwards`);
      for (const [index, id] of ids.entries()) await changeImage(world, id, `last-${index}`);
      await Promise.all(ids.map((id) => world.ready(id)));
      for (const [index, writer] of writers.entries()) {
        writer.acknowledged.push(`registry.example/shop/web:last-${index}`);
        checks.none(`writer ${index}`, await writer.problems());
      }
      const isArmed = async () =>
        world.postgres.messages(API).some(({ at, sql }) => at >= from && sql.startsWith('LISTEN'));
      return [...checks.violations, ...(await within(ARMED_WITHIN_S, 'LISTEN to be armed again', isArmed))];
    },
  };
}

const CUT_IDLE = {
  at: 'cut',
  says: 'Every idle connection of the API is cut',
  run: async ({ postgres }: FaultWorld) => {
    postgres.cut(API);
    postgres.open(API);
  },
};

const CUT_LISTEN = {
  at: 'cut',
  says: 'The connection of LISTEN breaks',
  run: async (world: FaultWorld) => {
    await world.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND (query LIKE 'LISTEN %' OR query = 'SELECT 1')`,
    );
  },
};

export const postgresPlans: readonly FaultPlan[] = [
  ...breaks,
  idlePlan(CUT_IDLE),
  listenPlan(CUT_LISTEN),
  ...crashPlans,
  ...(['immediate', 'fast', 'silent'] as const).map(underWrites),
];
