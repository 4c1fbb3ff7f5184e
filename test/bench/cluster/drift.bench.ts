import type { UntypedObject } from '../../../src/kube/object.ts';
import { RESOURCES } from '../../../src/kube/resources.ts';
import type { Bench, Sample } from '../bench.ts';
import { isApi, isAvailable, isSettled, type SeenApp } from './apps.ts';
import { eachOf } from './berth.ts';
import { patience } from './fill.ts';
import { percentiles } from './latencies.ts';
import { bodyAlone } from './samples.ts';
import { withWorld } from './sides.ts';

/** As many as make a p99. */
const DELETIONS = 100;
const DEPLOYMENTS = 5;
/** Deletions that do not count: twice each deployment's. */
const WARM_UP = 2 * DEPLOYMENTS;

/** Watches of kinds do not wait for each other: the status may be seen before the Deployment. */
const apiOf = ({ objects }: SeenApp) => [...objects.values()].find(isApi);

export const bench: Bench = {
  name: 'drift',
  what: `The Deployment of an application is deleted by hand, {n} times, ${DEPLOYMENTS} deployments in turn, after ${WARM_UP} that do not count: from before the deletion until a watch shows another one. Each has one pod.`,
  floor: null,
  n: DELETIONS,
  goalsFrom: DELETIONS,
  runs: 1,
  fresh: true,
  measures: [
    { name: 'p50', unit: 'ms' },
    { name: 'p99', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 1000 } },
  ],
  start: (context) =>
    withWorld(context, 'drift', async ({ berth, apps }) => {
      const deletions = context.n ?? DELETIONS;
      const settled = apps.until(
        'the deployments to settle',
        () => apps.size === DEPLOYMENTS && apps.all().every((app) => isSettled(app) && apiOf(app)),
        patience(DEPLOYMENTS),
      );
      const names = Array.from({ length: DEPLOYMENTS }, (_, index) => `drift-${index}`);
      await eachOf(names, (name) => berth.create(bodyAlone(name)));
      await settled;
      const single = async (index: number): Promise<number> => {
        const app = apps.all()[index % DEPLOYMENTS];
        const child = app && apiOf(app);
        if (child === undefined) throw new Error('failed to find a Deployment');
        const { namespace, name, uid } = child.metadata;
        const isAnother = (object: UntypedObject) =>
          isApi(object) && object.metadata.name === name && object.metadata.uid !== uid;
        const again = apps.until('the Deployment to be there again', (_app, object) => isAnother(object));
        const began = performance.now();
        await berth.admin.delete(RESOURCES.Deployment, { ...(namespace && { namespace }), name });
        const at = await again;
        // The next one is deleted when nothing of this one is under way any more.
        await apps.until(
          'the pod to be there again',
          (_app, object) => isAnother(object) && isAvailable(object),
        );
        return at - began;
      };
      const inTurn = async (count: number): Promise<number[]> => {
        const values: number[] = [];
        for (let index = 0; index < count; index += 1) values.push(await single(index));
        return values;
      };
      await inTurn(WARM_UP);
      return { ours: async (): Promise<Sample> => percentiles(await inTurn(deletions)) };
    }),
};
