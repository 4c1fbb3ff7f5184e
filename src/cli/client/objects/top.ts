import { type Context, show } from '../context.ts';
import { cell, table } from '../table.ts';
import { type ClusterObject, noteMissing, readMap } from './objects.ts';

/** `berth top`. */

type Container = NonNullable<ClusterObject['pod']>['containers'][number];

const HEADER = ['POD', 'CONTAINER', 'CPU', 'REQUEST', 'LIMIT', 'MEMORY MB', 'REQUEST', 'LIMIT', 'RESTARTS'];

const row = (pod: string, { name, usage, requests, limits, restarts }: Container) => [
  pod,
  name,
  usage?.cpu,
  requests.cpu,
  limits.cpu,
  usage?.memory_mb,
  requests.memory_mb,
  limits.memory_mb,
  restarts,
];

/** Prints the usage of each container that is not an init container. */
export async function top(context: Context, name: string): Promise<undefined> {
  const map = await readMap(context, name);
  const pods = map.resources.filter(({ kind }) => kind === 'Pod');
  const rows = () =>
    pods.flatMap(({ name: pod, pod: view }) =>
      (view?.containers ?? [])
        .filter(({ init }) => !init)
        .map((container) => row(pod, container).map((value) => cell(value))),
    );
  const value = { resources: pods, metrics: map.metrics };
  await show(context, value, { table: () => table(HEADER, rows()) });
  if (map.metrics.reason !== null) context.note(`usage is missing: ${cell(map.metrics.reason)}`);
  noteMissing(context, map);
}
