import { setTimeout as sleep } from 'node:timers/promises';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { call, PATH } from '../api/bodies.ts';
import type { Bench, Sample } from '../bench.ts';
import { isApi, isAvailable, isSettled, resourceOf } from './apps.ts';
import { eachOf } from './berth.ts';
import { patience } from './fill.ts';
import { percentiles } from './latencies.ts';
import { body, imageConfig } from './samples.ts';
import { withWorld } from './sides.ts';

/** As many as make a p99. */
const CHANGES = 100;
const DEPLOYMENTS = 5;
/** Changes that do not count: twice each deployment. */
const WARM_UP = 2 * DEPLOYMENTS;
const LOOK_MS = 10;

interface Answer {
  readonly latest_revision_id: string;
  readonly active_revision_id: string | null;
}

export const bench: Bench = {
  name: 'deployed',
  what: `A new image, {n} times, ${DEPLOYMENTS} deployments in turn, after ${WARM_UP} that do not count: from the watch event with which the Deployment has its one pod of the new template available until GET shows the revision as active (asked every ${LOOK_MS} ms).`,
  floor: null,
  n: CHANGES,
  goalsFrom: CHANGES,
  runs: 1,
  warmedUp: true,
  measures: [
    { name: 'p50', unit: 'ms' },
    { name: 'p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 250 } },
  ],
  start: (context) =>
    withWorld(context, 'deployed', async ({ berth, apps }) => {
      const changes = context.n ?? CHANGES;
      const ids: string[] = [];
      const settled = apps.until(
        'the deployments to serve',
        () => apps.size === DEPLOYMENTS && apps.all().every(isSettled),
        patience(DEPLOYMENTS),
      );
      const names = Array.from({ length: DEPLOYMENTS }, (_, index) => `deployed-${index}`);
      await eachOf(names, async (name) => ids.push((await berth.create(body(name, 1))).id));
      await settled;
      let images = 0;
      const single = async (id: string): Promise<number> => {
        images += 1;
        const tag = `2.${images}.0`;
        const available = apps.until('the new pod', (_app, object) => {
          if (object.metadata.labels?.[LABELS.deploymentId] !== id) return false;
          return isApi(object) && JSON.stringify(object['spec']).includes(`:${tag}"`) && isAvailable(object);
        });
        await berth.patch(id, { source_revision_config: imageConfig(tag) });
        const since = await available;
        for (;;) {
          const answer = await call<Answer>(berth.apiUrl(), berth.apiKey, 'GET', `${PATH}/${id}`);
          const at = performance.now();
          if (answer.active_revision_id === answer.latest_revision_id) return at - since;
          await sleep(LOOK_MS);
        }
      };
      const inTurn = async (count: number): Promise<number[]> => {
        const values: number[] = [];
        for (let index = 0; index < count; index += 1) {
          const id = ids[index % ids.length] ?? '';
          values.push(await single(id));
          const app = apps.all().find((each) => resourceOf(each)?.spec.deploymentId === id);
          if (app !== undefined && !isSettled(app))
            await apps.until('the status', (each) => each.name === app.name && isSettled(each));
        }
        return values;
      };
      await inTurn(WARM_UP);
      return { ours: async (): Promise<Sample> => percentiles(await inTurn(changes)) };
    }),
};
