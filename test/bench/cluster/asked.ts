/** What the API server was asked, by its own count and whoever asked: Berth, the bench, Kubernetes' own controllers. */
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';
import type { Measure, Sample } from '../bench.ts';

const REQUESTS = 'apiserver_request_total';

/** The API server's counters, by what a bench calls them, and what is to be in a line of them. */
const COUNTERS = {
  requests: { counter: REQUESTS, label: '' },
  'of these to ManagedDeployments': { counter: REQUESTS, label: 'resource="manageddeployments"' },
  'of these Events': { counter: REQUESTS, label: 'resource="events"' },
  'watch events': { counter: 'apiserver_watch_events_total', label: '' },
} as const;

const NAMES = Object.keys(COUNTERS) as (keyof typeof COUNTERS)[];

/** What Kubernetes' processor time is for. */
export const ASKED: readonly Measure[] = NAMES.map((name) => ({ name, unit: 'a deployment' }));

type Asked = Readonly<Record<keyof typeof COUNTERS, number>>;

function sumOf(text: string, { counter, label }: { counter: string; label: string }): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${counter}{`) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** All that was counted since the API server began. @param text of its `/metrics` */
const askedIn = (text: string): Asked =>
  Object.fromEntries(NAMES.map((name) => [name, sumOf(text, COUNTERS[name])])) as Asked;

/** @throws Error with kubectl's message */
async function askedOf(access: KubectlAccess): Promise<Asked> {
  return askedIn(await kubectl(access, ['get', '--raw', '/metrics']));
}

/** Runs a round of so many deployments, which takes its own time: to count takes the API server a while. */
export async function withAsked<T>(
  { access, count }: { access: KubectlAccess; count: number },
  round: () => Promise<T>,
): Promise<{ result: T; asked: Sample }> {
  const before = await askedOf(access);
  const result = await round();
  const after = await askedOf(access);
  const asked = Object.fromEntries(NAMES.map((name) => [name, (after[name] - before[name]) / count]));
  return { result, asked };
}
