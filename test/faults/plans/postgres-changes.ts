/** A fault of PostgreSQL at one moment of a change; all has to end as without it. */
import { Transactions } from '../effects.ts';
import { tablesWritten } from '../heartbeats.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { SqlFault, SqlMessage } from '../proxies/postgres-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultWorld } from '../world.ts';
import { Checks } from './checks.ts';

const API = 'api';

/** Changes that users make; each is tried with the connection broken at each moment. */
export const CHANGES = ['create', 'update', 'rollback', 'delete'] as const;

export interface Moment {
  readonly says: string;
  /** Made anew for a plan: some look at a transaction from its beginning. */
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

/** A workload with one fault at its change: all has to end as without it. */
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
      const given = await workload.prepare(world);
      await world.quiet({ forMs: SETTLED_MS });
      const { match, fault } = moment(world);
      const rule = world.postgres.add({ match: match(), fault, times: 1 });
      const now = await workload.run(world, given);
      await workload.end(world, now);
      const checks = new Checks();
      checks.that(rule.taken() === 1, 'the change went by without the fault');
      return checks.violations;
    },
  };
}
