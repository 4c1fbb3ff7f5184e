/** The API server is down for longer than a lease lasts: connections are rejected or silent. */
import { setTimeout as sleep } from 'node:timers/promises';
import { smallDeployment } from '../../integration/harness/samples.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { FaultWorld } from '../world.ts';
import {
  broken,
  change,
  imageChange,
  isUpToDate,
  type RunningDeployment,
  restartWithoutWaiting,
  runningDeployment,
  within,
} from './steps.ts';

/** The operator's lease lasts 10 s, and others may take it after 15 s. So no earlier lease is valid any more. */
const AWAY_MS = 60_000;
/** Lease renewals to the hub every 10 s, an API server check up to 20 s old that takes 4 s, and time for a busy machine. */
const REPORTED_WITHIN_S = 45;
const CONVERGED_WITHIN_S = 15;

const HOW = {
  cut: 'connections are reset and rejected',
  blackhole: 'connections stay open, but no byte passes',
} as const;

interface When {
  readonly says: string;
  /** Resolves when the API server is down. @param down makes it unreachable */
  begin(world: FaultWorld, shop: RunningDeployment, down: () => void): Promise<void>;
}

const starting = (role: 'operator' | 'listener'): When => ({
  says: `and the ${role} is started meanwhile`,
  begin: async (world, _shop, down) => {
    down();
    await restartWithoutWaiting(world, role);
  },
});

const WHEN: Readonly<Record<string, When>> = {
  idle: {
    says: 'while Berth is idle',
    begin: async (_world, _shop, down) => down(),
  },
  'mid-rollout': {
    says: 'after a rollout has started',
    begin: async (world, { id, app }, down) => {
      const began = Promise.withResolvers<void>();
      world.kubernetes.add({
        match: ({ client, verb, name }) => client === 'operator' && verb === 'apply' && name === `${app}-api`,
        fault: {
          kind: 'after',
          run: async () => {
            down();
            began.resolve();
          },
        },
        times: 1,
      });
      await change(world, id, imageChange('2.0.0'));
      await began.promise;
    },
  },
  'operator-start': starting('operator'),
  'listener-start': starting('listener'),
};

const isUnknown = async (world: FaultWorld, id: string) =>
  (await world.call('GET', `/v2/deployments/${id}`)).body.status === 'UNKNOWN';

function downPlan(how: keyof typeof HOW, when: string, { says, begin }: When): FaultPlan {
  return {
    name: `api-server-down/${when}/${how}`,
    deadlineSeconds: 240,
    says: `The API server is down for ${AWAY_MS / 1000} s, ${says}: ${HOW[how]}. The API accepts changes and reports UNKNOWN, and all is correct ${CONVERGED_WITHIN_S} s after its return.`,
    run: async (world): Promise<Violation[]> => {
      const shop = await runningDeployment(world);
      const begun = Date.now();
      const first = await world.create(smallDeployment('before'));
      await world.ready(first.id);
      /** Duration of a creation without a fault on this machine, including the start of pods. */
      const creationSeconds = (Date.now() - begun) / 1000;
      await world.quiet({ forMs: 1_500 });
      const away = Date.now();
      await begin(world, shop, () => world.kubernetes[how]());
      const patched = await world.call('PATCH', `/v2/deployments/${shop.id}`, imageChange('3.0.0'));
      const created = await world.call('POST', '/v2/deployments', smallDeployment('meanwhile'));
      const rejected = [patched, created].filter(({ status }) => status >= 300);
      if (rejected.length > 0)
        return rejected.map(({ status }) => broken(`a change got the status ${status}`));
      const reported = await within(REPORTED_WITHIN_S, 'the deployment to be UNKNOWN', () =>
        isUnknown(world, shop.id),
      );
      await sleep(Math.max(0, away + AWAY_MS - Date.now()));
      world.kubernetes.open();
      const back = Date.now();
      const existing = await within(
        CONVERGED_WITHIN_S,
        'the existing deployment to be in its desired state',
        () => isUpToDate(world, shop.id),
      );
      const left = CONVERGED_WITHIN_S + creationSeconds - (Date.now() - back) / 1000;
      const fresh = await within(left, 'the deployment created meanwhile to be READY', () =>
        isUpToDate(world, created.body.id),
      );
      return [...reported, ...existing, ...fresh];
    },
  };
}

export const apiServerDownPlans: readonly FaultPlan[] = Object.entries(WHEN).flatMap(([name, when]) =>
  (['cut', 'blackhole'] as const).map((how) => downPlan(how, name, when)),
);
