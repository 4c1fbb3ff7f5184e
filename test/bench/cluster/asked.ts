/** Counts all requests to the API server by its own metrics, regardless of the client: Berth, the bench or Kubernetes' controllers. */
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';
import type { Measure, Sample } from '../bench.ts';

const REQUESTS = 'apiserver_request_total';

/** The counters of the API server, by the name of the measure, each with a label that must match. */
const COUNTERS = {
  requests: { counter: REQUESTS, label: '' },
  'of these to ManagedDeployments': { counter: REQUESTS, label: 'resource="manageddeployments"' },
  'of these Events': { counter: REQUESTS, label: 'resource="events"' },
  'watch events': { counter: 'apiserver_watch_events_total', label: '' },
} as const;

const NAMES = Object.keys(COUNTERS) as (keyof typeof COUNTERS)[];

/** Measures that explain the processor time of Kubernetes. */
export const ASKED: readonly Measure[] = NAMES.map((name) => ({ name, unit: 'a deployment' }));

type Requests = Readonly<Record<keyof typeof COUNTERS, number>>;

function sumOf(text: string, { counter, label }: { counter: string; label: string }): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${counter}{`) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** The counts since the start of the API server. @param text text of its `/metrics` */
const countsIn = (text: string): Requests =>
  Object.fromEntries(NAMES.map((name) => [name, sumOf(text, COUNTERS[name])])) as Requests;

/** @throws Error with the message of kubectl */
async function countsOf(access: KubectlAccess): Promise<Requests> {
  return countsIn(await kubectl(access, ['get', '--raw', '/metrics']));
}

/** Counts the requests of a round. The round measures its own time, because reading the metrics takes a while. */
export async function withAsked<T>(
  { access, count }: { access: KubectlAccess; count: number },
  round: () => Promise<T>,
): Promise<{ result: T; asked: Sample }> {
  const before = await countsOf(access);
  const result = await round();
  const after = await countsOf(access);
  const asked = Object.fromEntries(NAMES.map((name) => [name, (after[name] - before[name]) / count]));
  return { result, asked };
}
