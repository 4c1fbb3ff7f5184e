/**
 * Notifications of PostgreSQL are lost, and transactions commit in another order than they began: no work is skipped.
 */
import { Transactions } from '../effects.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { KubernetesRequest } from '../proxies/kubernetes-traffic.ts';
import type { SqlMessage } from '../proxies/postgres-traffic.ts';
import { SETTLED_MS } from '../record.ts';
import { workloadNamed } from '../workloads.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, imageChange, prepared, serving } from './steps.ts';

/** A waiting long poll queries the database every 5 s, even without a notification. Twice that, for a busy machine. */
const BOUND_MS = 10_000;

const LISTENER_WRITES = new Set(['create', 'apply', 'delete']);
const isDelivery = ({ client, verb, resource }: KubernetesRequest) =>
  client === 'listener' && resource === 'manageddeployments' && LISTENER_WRITES.has(verb);

/** Ends the fault, and checks that it occurred: without a dropped NOTIFY the plan proves nothing. */
function endLoss(world: FaultWorld, checks: Checks): void {
  world.postgres.dropNotifications(false);
  checks.that(world.postgres.droppedNotifications() > 0, 'no NOTIFY was dropped');
}

/** Id and generation of each custom resource that the listener has written. */
function applied(world: FaultWorld): { id: string; generation: number }[] {
  return world.kubernetes
    .exchanges('listener')
    .filter((exchange) => isDelivery(exchange) && exchange.status < 300)
    .map(
      ({ body }) =>
        (body as { spec?: { deploymentId?: string; recordGeneration?: number } } | undefined)?.spec,
    )
    .flatMap((spec) => [{ id: spec?.deploymentId ?? '', generation: spec?.recordGeneration ?? 0 }]);
}

const lost = (['create', 'update', 'rollback', 'delete'] as const).map((change): FaultPlan => {
  const workload = workloadNamed(change);
  return {
    name: `notify/lost/${change}`,
    inSubset: change === 'update',
    says: `${change}: no NOTIFY reaches the API; the listener gets the work within ${BOUND_MS / 1000} s, by polling alone.`,
    like: workload,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const given = await prepared(world, workload);
      world.postgres.dropNotifications(true);
      try {
        const delivery = world.kubernetes.add({ match: isDelivery, fault: { kind: 'delay', ms: 0 } });
        const now = await workload.run(world, given);
        await delivery
          .waitTaken(1, BOUND_MS)
          .catch(() =>
            checks.that(false, `the work was not delivered within ${BOUND_MS} ms without a notification`),
          );
        await workload.end(world, now);
        endLoss(world, checks);
      } finally {
        world.postgres.dropNotifications(false);
      }
      return checks.violations;
    },
  };
});

/** Holds the next COMMIT of a change of a deployment until `release` is called. */
function holdCommit(world: FaultWorld): { held: Promise<void>; release: () => void } {
  const transactions = new Transactions();
  const { promise: free, resolve: release } = Promise.withResolvers<void>();
  const rule = world.postgres.add({
    match: (message: SqlMessage) =>
      message.client === 'api' && transactions.commits(message)?.startsWith('commit deployments') === true,
    fault: { kind: 'before', run: () => free },
    times: 1,
  });
  return { held: rule.waitTaken(), release };
}

/**
 * Changes of several deployments. The first one to begin commits last.
 * @param hinted false: every NOTIFY is lost as well, so only polls find the work
 */
function outOfOrder(hinted: boolean): FaultPlan {
  return {
    name: `notify/out-of-order/${hinted ? 'hinted' : 'polled'}`,
    says: `A change is held before COMMIT while later changes are committed and delivered; then it is delivered${hinted ? '' : ', with every NOTIFY lost'}.`,
    run: async (world): Promise<Violation[]> => {
      const checks = new Checks();
      const [early = '', ...late] = await Promise.all(
        ['early', 'late', 'later'].map((n) => serving(world, n)),
      );
      await world.quiet({ forMs: SETTLED_MS });
      world.kubernetes.clear();
      world.postgres.dropNotifications(!hinted);
      try {
        const { held, release } = holdCommit(world);
        const change = (id: string) =>
          world.call('PATCH', `/v2/deployments/${id}`, imageChange(`order-${id.slice(-4)}`));
        const first = change(early);
        await held;
        for (const id of late) checks.that((await change(id)).status === 200, `${id} could not be changed`);
        await Promise.all(late.map((id) => world.ready(id)));
        const before = applied(world);
        checks.that(!before.some(({ id }) => id === early), 'an uncommitted change was delivered');
        release();
        checks.that((await first).status === 200, 'the held change was rejected');
        await world.ready(early);
        const generations = applied(world).filter(({ id }) => id === early);
        checks.that(
          generations.some(({ generation }) => generation === 2),
          `the change that committed last was not delivered: ${JSON.stringify(generations)}`,
        );
        if (!hinted) endLoss(world, checks);
      } finally {
        world.postgres.dropNotifications(false);
      }
      return checks.violations;
    },
  };
}

export const notifyPlans: readonly FaultPlan[] = [...lost, outOfOrder(true), outOfOrder(false)];
