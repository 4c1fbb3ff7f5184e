import { PLATFORM_LISTENER_ID } from '../../../src/domain/deployment/source.ts';
import type { Bench } from '../bench.ts';
import { create, DEPLOYMENT_JSON, PATH } from './bodies.ts';
import { checkSizes, scriptOf, startFloor } from './floor.ts';
import { type ApiProcess, type BenchHub, prepareHub } from './hub.ts';
import { takeLease } from './listener-client.ts';
import { CONNECTIONS, requestMeasures, requestRound } from './measure.ts';
import { withHub } from './sides.ts';

/** Large enough, so that the compilation of hot code is a small part. */
const REQUESTS = 3000;

/** Reports the rendering of the cluster, because each creation reads the row of the listener. */
const reportRendering = ({ url }: ApiProcess, { apiKey }: BenchHub) =>
  takeLease({ url, apiKey, id: PLATFORM_LISTENER_ID });

/** The floor has a separate database, so that its writes are no work for Berth. */
export const bench: Bench = {
  name: 'api-post',
  what: `POST /v2/deployments over ${CONNECTIONS} connections: an external image with sizes and two secrets.`,
  floor:
    'fastify and pg send the same statements as Berth in the same transaction, over as many connections as Berth has for all tenants (a tenant of Berth has at most eight tenths of them), and respond with as many bytes. No key, no schema, no rules, no encryption.',
  n: REQUESTS,
  goalsFrom: REQUESTS,
  runs: 9,
  roundsAStart: 4,
  measures: requestMeasures(0.55),
  start: (context) =>
    withHub(context, async (hub, load, stack) => {
      const requests = context.n ?? REQUESTS;
      const api = await hub.startApi('api');
      await reportRendering(api, hub);
      const job = { method: 'POST', paths: [PATH], body: DEPLOYMENT_JSON, requests, expected: 201 } as const;
      const ours = () => requestRound(load, api, { ...job, headers: { 'x-api-key': hub.apiKey } });
      if (context.side !== undefined) return { ours, notes: () => [`${requests} requests a round.`] };
      const floorHub = await prepareHub(context);
      stack.defer(() => floorHub.stop());
      // Recorded there, so that its ids exist in the database to which the floor writes.
      const script = await scriptOf(floorHub, (recorded, index) => ({
        name: `probe-${index}-deployment`,
        pathId: null,
        send: async () => {
          // Before the first request, which is for warm-up only.
          if (index === 0) await reportRendering(recorded, floorHub);
          return create(recorded.url, floorHub.apiKey, `probe-${index}-deployment`);
        },
      }));
      const answer = await create(api.url, hub.apiKey, 'template');
      const floor = await startFloor(context, floorHub, [
        { method: 'POST', url: PATH, status: 201, script, answer, list: false },
      ]);
      stack.defer(() => floor.stop());
      await checkSizes(create(api.url, hub.apiKey, 'sized'), create(floor.url, '', 'sized'));
      return {
        ours,
        floor: () => requestRound(load, floor, { ...job, headers: {} }),
        notes: () => [
          `${requests} requests a round; ${script.length} statements each, BEGIN and COMMIT among them.`,
        ],
      };
    }),
};
