/** PostgreSQL faults during a change, on idle connections and on the connection of LISTEN; crashes at the same moments. */
import { nextDueStatement } from '../../../src/hub/store/sql/work/next-due.ts';
import { Transactions } from '../effects.ts';
import { tablesWritten } from '../heartbeats.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { SqlFault, SqlMessage } from '../proxies/postgres-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, changeImage, imageChange, isStatement, prepared, serving } from './steps.ts';

const API = 'api';

/** Changes that users make. Plans break the connection at each moment of each change. */
export const CHANGES = ['create', 'update', 'rollback', 'delete'] as const;

/** A moment of a change, and the fault at this moment. */
export interface Moment {
  readonly says: string;
  /** Creates the condition of a rule. New for each plan, because some conditions follow a transaction from its start. */
  readonly match: () => (message: SqlMessage) => boolean;
  readonly fault: SqlFault;
}

export const writesDeployments = ({ client, sql }: SqlMessage) =>
  client === API && tablesWritten(sql).includes('deployments');

/** The COMMIT of a change of a deployment. */
export function commitsDeployments(): (message: SqlMessage) => boolean {
  const transactions = new Transactions();
  return (message) =>
    message.client === API && transactions.commits(message)?.startsWith('commit deployments') === true;
}

/** A workload with one fault during its change. The final state must be the same as without the fault. */
export function likeWorkload(
  name: string,
  says: string,
  change: (typeof CHANGES)[number],
  moment: (world: FaultWorld) => Omit<Moment, 'says'>,
  more: Partial<FaultPlan> = {},
): FaultPlan {
  const workload = workloadNamed(change);
  return {
    name,
    says: `${change}: ${says}.`,
    like: workload,
    ...more,
    run: async (world): Promise<Violation[]> => {
      const given = await prepared(world, workload);
      const { match, fault } = moment(world);
      const rule = world.postgres.add({ match: match(), fault, times: 1 });
      const now = await workload.run(world, given);
      await workload.end(world, now);
      const checks = new Checks();
      checks.that(rule.taken() === 1, 'the fault did not occur during the change');
      return checks.violations;
    },
  };
}

/** Interval of the queries of a waiting long poll, without a notification. */
const REQUERY_MS = 5_000;

/** How connections break. */
interface Break {
  /** Part of the plan's name. */
  readonly at: string;
  readonly says: string;
  readonly run: (world: FaultWorld) => Promise<void>;
  readonly ownPostgres?: boolean;
}

/** Breaks connections while nothing happens: the next read and the next write must succeed. */
export function idlePlan({ at, says, run, ...more }: Break): FaultPlan {
  return {
    name: `postgres/${at}/idle`,
    ...more,
    says: `${says}: the next read and the next write succeed.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const id = await serving(world, 'shop');
      await world.quiet({ forMs: SETTLED_MS });
      for (const method of ['GET', 'PATCH'] as const) {
        await run(world);
        const body = method === 'GET' ? undefined : imageChange('after');
        const { status } = await world.call(method, `/v2/deployments/${id}`, body);
        checks.that(status === 200, `${method} got the status ${status} after idle connections broke`);
      }
      await world.ready(id);
      return checks.violations;
    },
  };
}

/** The query of a waiting long poll. */
const isPoll = isStatement(nextDueStatement);

/** Breaks connections, and changes a deployment before LISTEN is active again. */
export function listenPlan({ at, says, run, ...more }: Break): FaultPlan {
  return {
    name: `postgres/${at}/listen`,
    ...more,
    says: `${says} and a change is made before LISTEN is active again: the rescan delivers it, not the next poll.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const id = await serving(world, 'shop');
      await world.quiet({ forMs: SETTLED_MS });
      const { promise: mayListen, resolve: allowListen } = Promise.withResolvers<void>();
      const listening = world.postgres.add({
        match: ({ client, sql }) => client === API && sql.startsWith('LISTEN'),
        fault: { kind: 'before', run: () => mayListen },
        times: 1,
      });
      await run(world);
      await listening.waitTaken();
      // The change comes right after a query of the long poll, so the next query is far away.
      const polled = world.postgres.add({ match: isPoll, fault: { kind: 'delay', ms: 0 } });
      await polled.waitTaken();
      polled.remove();
      await changeImage(world, id, 'unheard');
      const delivered = world.kubernetes.add({
        match: ({ verb, resource }) => verb === 'apply' && resource === 'manageddeployments',
        fault: { kind: 'delay', ms: 0 },
      });
      allowListen();
      await delivered
        .waitTaken(1, REQUERY_MS / 2)
        .catch(() =>
          checks.that(
            false,
            'the change was delivered only by the next poll, not by the rescan after LISTEN',
          ),
        );
      await world.ready(id);
      return checks.violations;
    },
  };
}

async function crash({ server }: FaultWorld): Promise<void> {
  await server.stopServer('immediate');
  await server.startServer();
}

interface CrashMoment {
  readonly says: string;
  readonly match: Moment['match'];
  readonly kind: Extract<SqlFault['kind'], 'before' | 'after'>;
}

const MOMENTS: Readonly<Record<string, CrashMoment>> = {
  'in-transaction': {
    says: 'in the transaction, after the write and before COMMIT',
    match: () => writesDeployments,
    kind: 'after',
  },
  'before-commit': { says: 'before it executes COMMIT', match: commitsDeployments, kind: 'before' },
  'after-commit': { says: 'after it has executed COMMIT', match: commitsDeployments, kind: 'after' },
};

const inChanges = CHANGES.flatMap((change) =>
  Object.entries(MOMENTS).map(([at, { says, match, kind }]) =>
    likeWorkload(
      `postgres/crash/${change}/${at}`,
      `PostgreSQL crashes and starts again ${says}`,
      change,
      (world) => ({ match, fault: { kind, run: () => crash(world) } }),
      { ownPostgres: true },
    ),
  ),
);

const CRASH = { at: 'crash', run: crash, ownPostgres: true };

export const crashPlans: readonly FaultPlan[] = [
  ...inChanges,
  idlePlan({ ...CRASH, says: 'PostgreSQL crashes while idle, and starts again' }),
  listenPlan({ ...CRASH, says: 'PostgreSQL crashes and starts again' }),
];
