/** Two changes of one deployment at the same moment. */
import { waitFor } from '../../cluster/wait.ts';
import type { FaultPlan, Violation } from '../plan.ts';
import type { SqlMessage } from '../proxies/postgres-traffic.ts';
import type { FaultWorld } from '../world.ts';
import { Checks, imageChange, imageOf } from './checks.ts';
import { runningDeployment } from './steps.ts';

const WAITS_MS = 10_000;
const MOST_PODS = 3;

/** Another session of the database waits for what this one has written. */
async function untilOneWaits(world: FaultWorld): Promise<void> {
  const look = async () => {
    const [waiting] = await world.sql(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting !== undefined || undefined;
  };
  await waitFor('the second change to wait for the first one', look, { timeoutMs: WAITS_MS, intervalMs: 20 });
}

/** @returns how both were answered, the first one first */
async function atOnce(world: FaultWorld, id: string, first: object, second: object): Promise<number[]> {
  const patch = (what: object) => world.call('PATCH', `/v2/deployments/${id}`, what);
  const written = world.postgres.add({
    match: ({ client, sql }: SqlMessage) => client === 'api' && sql.includes('UPDATE deployments u SET'),
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
  says: 'A change arrives when another one of the same deployment is written and not committed: both are taken, one after the other.',
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const { id } = await runningDeployment(world);
    const scale = { source_config: { resource_spec: { min_scale: 1, max_scale: MOST_PODS } } };
    const statuses = await atOnce(world, id, imageChange('first'), scale);
    checks.that(statuses.join() === '200,200', `two changes at once were answered ${statuses.join()}`);
    const [row] = await world.sql<{ image: string; pods: number }>(
      `SELECT source_revision_config ->> 'image_uri' AS image, (source_config #>> '{resource_spec,max_scale}')::int AS pods
       FROM deployments WHERE id = $1`,
      [id],
    );
    checks.that(row?.image === imageOf('first'), `wanted is ${row?.image}, the image of neither`);
    checks.that(row?.pods === MOST_PODS, `wanted are ${row?.pods} pods at most, not ${MOST_PODS}`);
    await world.ready(id);
    return checks.violations;
  },
};

const secretsStay: FaultPlan = {
  name: 'burst/at-once/secrets',
  says: 'A change of the image arrives when one of the secrets is written and not committed: the secrets are those of that one.',
  run: async (world): Promise<Violation[]> => {
    const checks = new Checks();
    const { id } = await runningDeployment(world);
    const secrets = { secrets: [{ name: 'TOKEN', value: 'second' }] };
    const statuses = await atOnce(world, id, secrets, imageChange('first'));
    checks.that(statuses.join() === '200,200', `two changes at once were answered ${statuses.join()}`);
    const { body } = await world.call<{ secrets: { name: string }[] }>('GET', `/v2/deployments/${id}`);
    const names = body.secrets.map(({ name }) => name).join();
    checks.that(names === 'TOKEN', `the secrets are "${names}", not those of the first change`);
    await world.ready(id);
    return checks.violations;
  },
};

export const concurrentChangePlans: readonly FaultPlan[] = [oneWaits, secretsStay];
