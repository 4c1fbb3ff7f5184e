/** What the API server was asked, by its own count and whoever asked: Berth, the bench, Kubernetes' own controllers. */
import { type KubectlAccess, kubectl } from '../../cluster/kubectl.ts';

/** The API server's counters, by what a bench calls them. */
const COUNTERS = {
  requests: 'apiserver_request_total',
  'watch events': 'apiserver_watch_events_total',
} as const;

export type Asked = Readonly<Record<keyof typeof COUNTERS, number>>;

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
export async function askedOf(access: KubectlAccess): Promise<Asked> {
  return askedIn(await kubectl(access, ['get', '--raw', '/metrics']));
}
