/** An answer that lasts: it is asked for again, less and less often. */
import { setTimeout as sleep } from 'node:timers/promises';
import { kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { broken, change, imageOf, runningDeployment } from './steps.ts';

const LASTS_MS = 8_000;
/**
 * With pauses of up to 0.5 s, 1 s, 2 s, 4 s, full jitter, 5 tries are to be expected, and more than 15 come once in a
 * million times. Pauses that do not grow come to 30, and one that does not pause at all to hundreds.
 */
const MOST_TRIES = 15;

export const repeatedErrorPlans: readonly FaultPlan[] = [
  {
    name: 'status-codes/operator/apply/lasting',
    says: `update: "apply deployments" of the operator is answered 503 for ${LASTS_MS / 1000} s: tried at most ${MOST_TRIES} times, and it comes about afterwards.`,
    run: async (world, tell): Promise<Violation[]> => {
      const { id } = await runningDeployment(world);
      const refused = world.kubernetes.add({
        match: (request) =>
          request.client === 'operator' && kubernetesEffect(request) === 'apply deployments shop-x-api',
        fault: { kind: 'answer', status: 503 },
      });
      await change(world, id, imageOf('2.0.0'));
      await refused.waitTaken();
      await sleep(LASTS_MS);
      const tries = refused.taken();
      refused.remove();
      tell(`${tries} tries within ${LASTS_MS / 1000} s`);
      await world.ready(id);
      return tries > MOST_TRIES ? [broken(`tried ${tries} times within ${LASTS_MS} ms`)] : [];
    },
  },
];
