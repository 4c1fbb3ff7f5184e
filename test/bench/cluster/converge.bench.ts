import { makeNamespace, removeNamespace } from '../../integration/harness/namespaces.ts';
import { CONNECTIONS } from '../api/measure.ts';
import type { Bench, Sample } from '../bench.ts';
import { COST_MEASURES, clear, fill, withCosts } from './fill.ts';
import { untilGone } from './namespace-end.ts';
import { play } from './recording.ts';
import { withRecording } from './sides.ts';

const DEPLOYMENTS = 20;
const MS = 1000;

/** The floor writes to a namespace that Berth does not look at. */
export const bench: Bench = {
  name: 'converge',
  what: `From the first POST of ${DEPLOYMENTS} (--n: as many) over ${CONNECTIONS} connections until every object of every deployment is there and its status says so. They are switched off: no pod runs, and the Deployment of the application itself comes with the first start.`,
  floor:
    'The writes that listener and operator were seen to send for such a deployment, every object and every status, under other names over two clients with their settings and as much under way; no API, no database, no decision, no read.',
  runs: 1,
  measures: [
    { name: 'time', unit: 's', goal: { of: 'ratio', is: 'at most', limit: 1.25 } },
    { name: 'rate', unit: 'deployments/s' },
    ...COST_MEASURES,
  ],
  start: (context) =>
    withRecording(context, 'converge', 0, async ({ berth, apps, load }, recording) => {
      const count = context.n ?? DEPLOYMENTS;
      const { objects, waves, summary } = recording;
      let rounds = 0;
      let own: (readonly [number, number])[] = [];
      let others: [number, number][] = [];
      const ours = async (): Promise<Sample> => {
        rounds += 1;
        const prefix = `round-${rounds}-`;
        const { result, costs } = await withCosts(berth, count, () =>
          fill(berth, apps, load, { count, pods: 0, prefix, objects }),
        );
        own = [...result.progress];
        await clear(berth, apps);
        return { time: result.seconds, rate: count / result.seconds, ...costs };
      };
      const floor = async (): Promise<Sample> => {
        rounds += 1;
        const namespace = await makeNamespace(berth.access, 'bench-floor');
        others = [];
        const began = performance.now();
        await play(recording, berth, { namespace, prefix: `floor-${rounds}`, count }, (at) => {
          others.push([(at - began) / MS, others.length + 1]);
        });
        const seconds = (performance.now() - began) / MS;
        await removeNamespace(berth.access, namespace);
        await untilGone(berth, namespace, count);
        return { time: seconds, rate: count / seconds };
      };
      return {
        ours,
        floor,
        notes: () => [
          `${count} deployments a round, ${objects} objects each, by ${waves.flat().length} writes: ${summary}.`,
          berth.note,
        ],
        plots: () => [
          {
            name: 'progress',
            title: `${count} deployments: how many are all there`,
            x: 'seconds since the first POST, or the first write',
            y: 'deployments',
            lines: [
              { name: 'Berth', points: own },
              { name: 'the same writes', points: others },
            ],
          },
        ],
      };
    }),
};
