/** What the API server was asked, by its own count and whoever asked: Berth, the bench, Kubernetes' own controllers. */
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';
import type { Measure, Sample } from '../bench.ts';

/** The API server's counters, by what a bench calls them. */
const COUNTERS = {
  requests: 'apiserver_request_total',
  'watch events': 'apiserver_watch_events_total',
} as const;

/** What Kubernetes' processor time is for. */
export const ASKED: readonly Measure[] = Object.keys(COUNTERS).map((name) => ({
  name,
  unit: 'a deployment',
}));

type Asked = Readonly<Record<keyof typeof COUNTERS, number>>;

function sumOf(text: string, counter: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${counter}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** All that was counted since the API server began. @param text of its `/metrics` */
export function askedIn(text: string): Asked {
  return {
    requests: sumOf(text, COUNTERS.requests),
    'watch events': sumOf(text, COUNTERS['watch events']),
  };
}

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
  const each = (name: keyof Asked) => (after[name] - before[name]) / count;
  return { result, asked: { requests: each('requests'), 'watch events': each('watch events') } };
}
