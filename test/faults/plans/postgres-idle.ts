/** Connections that break while nothing goes over them: those of the pool, and the one that listens. */
import type { FaultPlan, Violation } from '../plan.ts';
import type { SqlMessage } from '../proxies/postgres-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, changeImage, imageChange, serving } from './checks.ts';

const API = 'api';
/** Between two looks of a waiting long poll, without a hint. */
const LOOK_AGAIN_MS = 5_000;

/** How connections break. */
interface Break {
  /** In the plan's name. */
  readonly at: string;
  readonly says: string;
  readonly run: (world: FaultWorld) => Promise<void>;
  readonly ownPostgres?: boolean;
}

export function idlePlan({ at, says, run, ...more }: Break): FaultPlan {
  return {
    name: `postgres/${at}/idle`,
    ...more,
    says: `${says}: the next read and the next write are answered as if nothing were.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const id = await serving(world, 'shop');
      await world.quiet({ forMs: SETTLED_MS });
      for (const method of ['GET', 'PATCH'] as const) {
        await run(world);
        const body = method === 'GET' ? undefined : imageChange('after');
        const { status } = await world.call(method, `/v2/deployments/${id}`, body);
        checks.that(status === 200, `${method} was answered ${status} after idle connections broke`);
      }
      await world.ready(id);
      return checks.violations;
    },
  };
}

const isLook = ({ client, sql }: SqlMessage) =>
  client === API && sql.startsWith('SELECT l.lease_epoch, extract');

export function listenPlan({ at, says, run, ...more }: Break): FaultPlan {
  return {
    name: `postgres/${at}/listen`,
    ...more,
    says: `${says} and a change is made before it is armed again: the rescan delivers it, not the next poll.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const id = await serving(world, 'shop');
      await world.quiet({ forMs: SETTLED_MS });
      const { promise: mayArm, resolve: arm } = Promise.withResolvers<void>();
      const arming = world.postgres.add({
        match: ({ client, sql }) => client === API && sql.startsWith('LISTEN'),
        fault: { kind: 'before', run: () => mayArm },
        times: 1,
      });
      await run(world);
      await arming.waitTaken();
      // Right after a look of the long poll, so that its next one is far.
      const looked = world.postgres.add({ match: isLook, fault: { kind: 'delay', ms: 0 } });
      await looked.waitTaken();
      looked.remove();
      await changeImage(world, id, 'unheard');
      const delivered = world.kubernetes.add({
        match: ({ verb, resource }) => verb === 'apply' && resource === 'manageddeployments',
        fault: { kind: 'delay', ms: 0 },
      });
      arm();
      await delivered
        .waitTaken(1, LOOK_AGAIN_MS / 2)
        .catch(() => checks.that(false, 'the change waited for the next poll: nothing looked after LISTEN'));
      await world.ready(id);
      return checks.violations;
    },
  };
}
