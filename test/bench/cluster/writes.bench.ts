import type { Bench, Sample } from '../bench.ts';
import { isSettled, resourceOf } from './apps.ts';
import { clear, patience } from './fill.ts';
import { isDone, isWrite, summaryOf, untilQuiet } from './recording.ts';
import { body, imageConfig } from './samples.ts';
import { withWorld } from './sides.ts';

const UNTIL_QUIET_MS = 2500;

/** Events tell of what was done; each is counted for itself. */
export const bench: Bench = {
  name: 'writes',
  what: 'Writes of listener and operator that reach the API server, counted by a proxy: of a deployment with one pod of each component until it serves, of a new image until that serves, and of a PATCH that changes nothing. A visible step: a status that differs from the one before in more than wording and the pods of components.',
  floor: null,
  n: 1,
  runs: 1,
  measures: [
    {
      name: 'create: writes of an object',
      unit: 'writes',
      goal: { of: 'value', is: 'at most', limit: 1 },
    },
    { name: 'create: statuses', unit: 'writes' },
    {
      name: 'create: statuses without a step',
      unit: 'writes',
      goal: { of: 'value', is: 'at most', limit: 0 },
    },
    { name: 'create: events', unit: 'writes' },
    { name: 'create: reads', unit: 'requests' },
    { name: 'create: refused', unit: 'requests', goal: { of: 'value', is: 'at most', limit: 0 } },
    {
      name: 'image: workloads',
      unit: 'writes',
      goal: { of: 'value', is: 'at most', limit: 1 },
    },
    { name: 'image: other objects', unit: 'writes', goal: { of: 'value', is: 'at most', limit: 0 } },
    { name: 'image: statuses', unit: 'writes' },
    { name: 'image: events', unit: 'writes' },
    {
      name: 'image: statuses without a step',
      unit: 'writes',
      goal: { of: 'value', is: 'at most', limit: 0 },
    },
    { name: 'nothing: writes', unit: 'writes', goal: { of: 'value', is: 'at most', limit: 0 } },
  ],
  start: (context) =>
    withWorld(
      context,
      'writes',
      async ({ berth, apps }) => {
        const { proxy } = berth;
        const summaries = new Map<string, string>();
        /** Everything but heartbeats from before the change until nothing more comes. */
        const seenOf = async (
          what: string,
          change: () => Promise<unknown>,
          until?: () => Promise<unknown>,
        ) => {
          await untilQuiet(proxy, UNTIL_QUIET_MS);
          proxy.clear();
          const settled = until?.();
          await change();
          await settled;
          await untilQuiet(proxy, UNTIL_QUIET_MS);
          const seen = proxy
            .exchanges()
            .filter(({ verb, resource }) => verb !== 'watch' && resource !== 'leases' && resource !== '');
          summaries.set(what, summaryOf(seen));
          const writes = seen.filter((each) => isWrite(each) && isDone(each));
          const statuses = writes.filter(({ subresource }) => subresource === 'status');
          const events = writes.filter(({ resource }) => resource === 'events');
          return {
            writes,
            statuses: statuses.length,
            idle: withoutStep(statuses.map((each) => (each.body as { status: object }).status)),
            events: events.length,
            objects: writes.filter((each) => !statuses.includes(each) && !events.includes(each)),
            reads: seen.filter((each) => !isWrite(each)).length,
            refused: seen.filter((each) => isWrite(each) && !isDone(each)).length,
          };
        };
        let rounds = 0;
        const ours = async (): Promise<Sample> => {
          rounds += 1;
          let id = '';
          const settles = () =>
            apps.until(
              'the deployment to serve',
              (app) => isSettled(app) && resourceOf(app)?.spec.deploymentId === id,
              patience(1),
            );
          const made = await seenOf(
            'create',
            async () => {
              id = (await berth.create(body(`writes-${rounds}`, 1))).id;
            },
            settles,
          );
          const names = new Set(made.objects.map((each) => `${each.resource}/${each.name}`));
          const changed = await seenOf(
            'image',
            () => berth.patch(id, { source_revision_config: imageConfig(`3.${rounds}.0`) }),
            () =>
              apps.until('the image to serve', (app) => {
                const { spec, status } = resourceOf(app) ?? {};
                return spec?.generation === 2 && status?.observedSpecGeneration === 2 && isSettled(app);
              }),
          );
          const isWorkload = ({ resource }: { resource: string }) =>
            resource === 'deployments' || resource === 'statefulsets';
          const workloads = changed.objects.filter(isWorkload).length;
          const { source_config } = body('', 1);
          const nothing = await seenOf('nothing', () => berth.patch(id, { source_config }));
          await clear(berth, apps);
          return {
            'create: writes of an object': made.objects.length / names.size,
            'create: statuses': made.statuses,
            'create: statuses without a step': made.idle,
            'create: events': made.events,
            'create: reads': made.reads,
            'create: refused': made.refused,
            'image: workloads': workloads,
            'image: other objects': changed.objects.length - workloads,
            'image: statuses': changed.statuses,
            'image: events': changed.events,
            'image: statuses without a step': changed.idle,
            'nothing: writes': nothing.writes.length,
          };
        };
        return {
          ours,
          notes: () => [
            ...[...summaries].map(([what, text]) => `${what}: ${text || 'nothing'}.`),
            berth.note,
          ],
        };
      },
      { behindProxy: true },
    ),
};

/** What a reader of the status sees beside numbers and wording. */
function stepOf(status: object): string {
  const {
    conditions,
    components: _,
    ...rest
  } = status as {
    conditions?: { type: string; status: string; reason: string }[];
    components?: unknown;
  };
  const states = conditions?.map(({ type, status: state, reason }) => `${type} ${state} ${reason}`);
  return JSON.stringify([states, rest]);
}

function withoutStep(statuses: readonly object[]): number {
  return statuses.filter((status, index) => {
    const before = statuses[index - 1];
    return before !== undefined && stepOf(before) === stepOf(status);
  }).length;
}
