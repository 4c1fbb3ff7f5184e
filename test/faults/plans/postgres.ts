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
/** Statements time out after 10 s, connection attempts after 5 s. */
const ANSWERED_WITHIN_MS = 20_000;
const DOWN_MS = 3_000;
/** The pauses between connection attempts are up to 10 s (src/hub/store/core/notifications.ts). */
const LISTENING_WITHIN_S = 15;

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

/** Checks the responses to clients and probes while PostgreSQL is down. */
async function checkWhileDown(world: FaultWorld, id: string, checks: Checks): Promise<void> {
  for (const [method, path, body] of [
    ['GET', `/v2/deployments/${id}`],
    ['GET', '/v2/deployments'],
    ['PATCH', `/v2/deployments/${id}`, imageChange('while-away')],
    ['GET', '/readyz'],
  ] as const) {
    const call = world.call<unknown>(method, path, body);
    const answer = await inTime(ANSWERED_WITHIN_MS, `${method} ${path} while PostgreSQL is down`, call);
    checks.that(
      isUnavailable(answer.status, answer.body),
      `${method} ${path} got ${answer.status} ${JSON.stringify(answer.body)} while PostgreSQL was down`,
    );
  }
  const alive = await world.call('GET', '/healthz');
  checks.that(alive.status === 200, `GET /healthz got ${alive.status}, but the process should stay alive`);
}

/** Several clients write while PostgreSQL is down for a while. */
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
      // A deployment of no writer, so that this change does not appear among theirs.
      await checkWhileDown(world, '00000000-0000-4000-8000-000000000000', checks);
      await sleep(DOWN_MS);
      // Taken before the start, because the server accepts connections before startServer resolves.
      const from = Date.now();
      if (mode === 'silent') world.postgres.open(API);
      else await world.server.startServer();
      await Promise.all(writers.map((writer) => writer.progress(3)));
      await Promise.all(writers.map((writer) => writer.stop()));
      const ready = await world.call('GET', '/readyz');
      checks.that(ready.status === 200, `GET /readyz returns ${ready.status} afterwards`);
      for (const [index, id] of ids.entries()) await changeImage(world, id, `last-${index}`);
      await Promise.all(ids.map((id) => world.ready(id)));
      for (const [index, writer] of writers.entries()) {
        writer.acknowledged.push(`registry.example/shop/web:last-${index}`);
        checks.none(`writer ${index}`, await writer.problems());
      }
      const isListening = async () =>
        world.postgres.messages(API).some(({ at, sql }) => at >= from && sql.startsWith('LISTEN'));
      return [
        ...checks.violations,
        ...(await within(LISTENING_WITHIN_S, 'LISTEN to be active again', isListening)),
      ];
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
