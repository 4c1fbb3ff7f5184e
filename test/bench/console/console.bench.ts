/** How soon the fleet page of the console can be used, and how soon it shows that a status has changed. */
import { launchBrowser } from '../../cluster/browser.ts';
import { installChromium } from '../../cluster/chromium.ts';
import { create } from '../api/bodies.ts';
import type { BenchHub } from '../api/hub.ts';
import { seedDeployments } from '../api/seed.ts';
import { withHub } from '../api/sides.ts';
import type { Bench, Sample } from '../bench.ts';
import { fleetPage, floorPage, startConsoleApi } from './sides.ts';
import { timeToShow, type Visited, visit, visitWithStream } from './visits.ts';

const DEPLOYMENTS = 5_000;
/** How often a round opens the page, each time without a cache. */
const OPENED = 5;
/** Number of changes of a round, one after the other. */
const CHANGES = 20;
/** The newest deployments, which are at the top of the page. */
const VISIBLE = 10;

const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;

/** Changes the status of a deployment, as a report of an operator does. */
const setReady = (hub: BenchHub, id: string, isReady: boolean) =>
  hub.sql('UPDATE deployments SET has_runnable_revision = true, data_ready = $2 WHERE id = $1', [
    id,
    isReady,
  ]);

async function round(hub: BenchHub, visited: Visited, ids: readonly string[]): Promise<Sample> {
  const opened: number[] = [];
  while (opened.length < OPENED) {
    const { interactiveAfter, close } = await visit(visited);
    opened.push(interactiveAfter);
    await close();
  }
  for (const id of ids) await setReady(hub, id, false);
  const open = await visitWithStream(visited);
  const shown: number[] = [];
  try {
    for (let change = 0; change < CHANGES; change += 1) {
      const id = ids[change % ids.length] ?? '';
      const isReady = Math.floor(change / ids.length) % 2 === 0;
      const text = isReady ? 'READY' : 'AWAITING_DATABASE';
      shown.push(await timeToShow(open, { id, text, change: () => setReady(hub, id, isReady) }));
    }
  } finally {
    await open.close();
  }
  return {
    'interactive p50': median(opened),
    'interactive slowest': Math.max(...opened),
    'change p50': median(shown),
    'change slowest': Math.max(...shown),
  };
}

export const bench: Bench = {
  name: 'console',
  what: `A browser without a cache opens the fleet page of {n} deployments: the time from the start of the navigation until a row is painted and the page reacts. Then, from the commit of a change of a status until the page shows it.`,
  n: DEPLOYMENTS,
  goalsFrom: DEPLOYMENTS,
  floor:
    'node:http and pg serve one static page without a library, the newest 100 rows, and a raw stream of changes. The page requests the row of each change. No sign-in.',
  runs: 5,
  measures: [
    { name: 'interactive p50', unit: 'ms' },
    { name: 'interactive slowest', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 1500 } },
    { name: 'change p50', unit: 'ms' },
    { name: 'change slowest', unit: 'ms', goal: { of: 'value', is: 'at most', limit: 1000 } },
  ],
  start: (context) =>
    withHub(context, async (hub, _load, stack) => {
      const browser = await launchBrowser(await installChromium());
      stack.defer(() => browser.close());
      const api = await startConsoleApi(context, hub);
      const { id } = await create(api, hub.apiKey, 'pattern');
      const count = context.n ?? DEPLOYMENTS;
      context.log(`seeding ${count} deployments`);
      const visible = (await seedDeployments(hub, id, count)).slice(-VISIBLE);
      const fleet = await fleetPage(hub, browser, api);
      const ours = () => round(hub, fleet, visible);
      const notes = () => [
        `${browser.browserType().name()} ${browser.version()}. A round opens the page ${OPENED} times and changes ${CHANGES} statuses.`,
      ];
      if (context.side !== undefined) return { ours, notes };
      const floor = await floorPage(context, hub, browser);
      return { ours, floor: () => round(hub, floor, visible), notes };
    }),
};
