/** PostgreSQL crashes (stop -m immediate) and comes back: in a transaction, at COMMIT, and when nothing is asked of it. */
import type { FaultPlan } from '../plan.ts';
import type { SqlFault } from '../proxies/postgres-traffic.ts';
import type { FaultWorld } from '../world.ts';
import {
  CHANGES,
  commitsDeployments,
  likeWorkload,
  type Moment,
  writesDeployments,
} from './postgres-changes.ts';
import { idlePlan, listenPlan } from './postgres-idle.ts';

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
  'before-commit': { says: 'before it has carried out COMMIT', match: commitsDeployments, kind: 'before' },
  'after-commit': { says: 'after it has carried out COMMIT', match: commitsDeployments, kind: 'after' },
};

const inChanges = CHANGES.flatMap((change) =>
  Object.entries(MOMENTS).map(([at, { says, match, kind }]) =>
    likeWorkload(
      `postgres/crash/${change}/${at}`,
      `PostgreSQL crashes and comes back ${says}`,
      change,
      (world) => ({ match, fault: { kind, run: () => crash(world) } }),
      { ownPostgres: true },
    ),
  ),
);

const CRASH = { at: 'crash', run: crash, ownPostgres: true };

export const crashPlans: readonly FaultPlan[] = [
  ...inChanges,
  idlePlan({ ...CRASH, says: 'PostgreSQL crashes while nothing is asked of it, and comes back' }),
  listenPlan({ ...CRASH, says: 'PostgreSQL crashes and comes back' }),
];
