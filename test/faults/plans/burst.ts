/** Many changes in the middle of a rollout: the last one wins, and few of the others are ever begun. */
import { setTimeout as sleep } from 'node:timers/promises';
import { kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, changeImage, imageOf, serving } from './checks.ts';

const CHANGES = 50;
const EVERY_MS = 100;
/** "Far fewer": three to seven are what runs have measured, the more the slower the machine is. */
const MOST_APPLIES = 15;

/** Applies that were taken, of kinds whose pods they replace. */
function workloadApplies(world: FaultWorld): number {
  return world.kubernetes
    .exchanges('operator')
    .filter(
      (exchange) => kubernetesEffect(exchange)?.startsWith('apply deployments') && exchange.status < 300,
    ).length;
}

/** @param everyMs 0: each as soon as the one before was answered */
function burst(name: string, everyMs: number): FaultPlan {
  return {
    name: `burst/${name}`,
    says: `${CHANGES} changes of the image ${everyMs} ms apart in the middle of a rollout: the last wins, and its workload is applied at most ${MOST_APPLIES} times.`,
    run: async (world, tell): Promise<Violation[]> => {
      const checks = new Checks();
      const id = await serving(world, 'shop');
      await world.quiet({ forMs: SETTLED_MS });
      world.kubernetes.clear();
      for (let number = 1; number <= CHANGES; number += 1) {
        await changeImage(world, id, `burst-${number}`);
        await sleep(everyMs);
      }
      await world.ready(id);
      const applies = workloadApplies(world);
      const resources = world.kubernetes
        .exchanges('listener')
        .filter(({ verb, resource }) => verb === 'apply' && resource === 'manageddeployments').length;
      tell(`${CHANGES} changes: ${resources} applies of the custom resource, ${applies} of the workload`);
      checks.that(applies <= MOST_APPLIES, `${applies} applies of the workload for ${CHANGES} changes`);
      const image = await world.kubectl(
        ...['get', 'deploy', '-l', `berth.dev/deployment-id=${id},app.kubernetes.io/component=api`],
        ...['-o', 'jsonpath={.items[0].spec.template.spec.containers[0].image}'],
      );
      checks.that(image === imageOf(`burst-${CHANGES}`), `${image} runs, not the last one`);
      const [row] = await world.sql<{ number: number }>(
        'SELECT number::int FROM revisions r JOIN deployments d ON d.active_revision_id = r.id WHERE d.id = $1',
        [id],
      );
      checks.that(row?.number === CHANGES + 1, `revision ${row?.number} is active`);
      return checks.violations;
    },
  };
}

export const burstPlans: readonly FaultPlan[] = [burst('steady', EVERY_MS), burst('without-pause', 0)];
