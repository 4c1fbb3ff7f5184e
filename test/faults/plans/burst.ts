/** Many changes during a rollout, and two changes of one deployment at the same time. */

import { setTimeout as sleep } from 'node:timers/promises';
import { updateDeploymentStatement } from '../../../src/hub/store/sql/deployments/update-deployment.ts';
import { waitFor } from '../../cluster/wait.ts';
import { kubernetesEffect } from '../effects.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import { SETTLED_MS } from '../record.ts';
import type { FaultWorld } from '../world.ts';
import {
  Checks,
  changeImage,
  imageChange,
  imageOf,
  isStatement,
  runningDeployment,
  serving,
} from './steps.ts';

const CHANGES = 50;
const EVERY_MS = 100;
/** The goal is far fewer applies than changes. Runs have measured three to seven, and more on slower machines. */
const MAX_APPLIES = 15;

/** Successful applies of Deployments, which replace their pods. */
function workloadApplies(world: FaultWorld): number {
  return world.kubernetes
    .exchanges('operator')
    .filter(
      (exchange) => kubernetesEffect(exchange)?.startsWith('apply deployments') && exchange.status < 300,
    ).length;
}

/** @param everyMs pause between two changes; 0 sends each one as soon as the previous one is answered */
function burst(name: string, everyMs: number): FaultPlan {
  return {
    name: `burst/${name}`,
    says: `${CHANGES} changes of the image ${everyMs} ms apart during a rollout: the last one wins, and the workload is applied at most ${MAX_APPLIES} times.`,
    run: async (world, addFigure): Promise<Violation[]> => {
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
      addFigure(
        `${CHANGES} changes: ${resources} applies of the custom resource, ${applies} of the workload`,
      );
      checks.that(applies <= MAX_APPLIES, `${applies} applies of the workload for ${CHANGES} changes`);
      const image = await world.kubectl(
        ...['get', 'deploy', '-l', `berth.dev/deployment-id=${id},app.kubernetes.io/component=api`],
        ...['-o', 'jsonpath={.items[0].spec.template.spec.containers[0].image}'],
      );
      checks.that(image === imageOf(`burst-${CHANGES}`), `the running image is ${image}, not the last one`);
      const [row] = await world.sql<{ number: number }>(
        'SELECT number::int FROM revisions r JOIN deployments d ON d.active_revision_id = r.id WHERE d.id = $1',
        [id],
      );
      checks.that(row?.number === CHANGES + 1, `revision ${row?.number} is active`);
      return checks.violations;
    },
  };
}

const WAITS_MS = 10_000;
const MAX_PODS = 3;

/** Resolves when another session of the database waits for the rows that this one has written. */
async function untilOneWaits(world: FaultWorld): Promise<void> {
  const isWaiting = async () => {
    const [waiting] = await world.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting !== undefined || undefined;
  };
  await waitFor('the second change to wait for the first one', isWaiting, {
    timeoutMs: WAITS_MS,
    intervalMs: 20,
  });
}

/** Sends both changes at the same time. Returns their statuses, in this order. */
async function atOnce(world: FaultWorld, id: string, first: object, second: object): Promise<number[]> {
  const patch = (what: object) => world.call('PATCH', `/v2/deployments/${id}`, what);
  const written = world.postgres.add({
    match: isStatement(updateDeploymentStatement),
    fault: { kind: 'after', run: () => untilOneWaits(world) },
    times: 1,
  });
  const one = patch(first);
  await written.waitTaken();
  const answers = await Promise.all([one, patch(second)]);
  return answers.map(({ status }) => status);
}

const oneWaits: FaultPlan = {
  name: 'burst/at-once',
  says: 'A change arrives while another change of the deployment is written but not committed: both are accepted, one after the other.',
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const { id } = await runningDeployment(world);
    const scale = { source_config: { resource_spec: { min_scale: 1, max_scale: MAX_PODS } } };
    const statuses = await atOnce(world, id, imageChange('first'), scale);
    checks.that(
      statuses.join() === '200,200',
      `the statuses of two simultaneous changes are ${statuses.join()}`,
    );
    const [row] = await world.sql<{ image: string; pods: number }>(
      `SELECT source_revision_config ->> 'image_uri' AS image, (source_config #>> '{resource_spec,max_scale}')::int AS pods
       FROM deployments WHERE id = $1`,
      [id],
    );
    checks.that(
      row?.image === imageOf('first'),
      `the desired image is ${row?.image}, not that of the first change`,
    );
    checks.that(row?.pods === MAX_PODS, `the desired max_scale is ${row?.pods}, not ${MAX_PODS}`);
    await world.ready(id);
    return checks.violations;
  },
};

const secretsStay: FaultPlan = {
  name: 'burst/at-once/secrets',
  says: 'A change of the image arrives while a change of the secrets is written but not committed: the new secrets are kept.',
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const { id } = await runningDeployment(world);
    const secrets = { secrets: [{ name: 'TOKEN', value: 'second' }] };
    const statuses = await atOnce(world, id, secrets, imageChange('first'));
    checks.that(
      statuses.join() === '200,200',
      `the statuses of two simultaneous changes are ${statuses.join()}`,
    );
    const { body } = await world.call<{ secrets: { name: string }[] }>('GET', `/v2/deployments/${id}`);
    const names = body.secrets.map(({ name }) => name).join();
    checks.that(names === 'TOKEN', `the secrets are "${names}", not those of the first change`);
    await world.ready(id);
    return checks.violations;
  },
};

export const burstPlans: readonly FaultPlan[] = [
  burst('steady', EVERY_MS),
  burst('without-pause', 0),
  oneWaits,
  secretsStay,
];
